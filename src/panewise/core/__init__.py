"""The ground everything stands on: time and quantities, intervals, schemas, scalar expressions, errors."""
