"""Where rows come into a relation, and what maps them one by one."""
