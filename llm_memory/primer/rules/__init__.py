"""Pure rules of the primer: sections and their budgets."""
