"""What AstrBot offers: its providers, personas, clock, configuration, log, routes and pip."""
