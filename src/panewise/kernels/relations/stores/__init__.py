"""What operators keep: rows by slot, and queues that know which of them leave next."""
