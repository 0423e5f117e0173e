"""Commands: servers for agents and browsers."""
