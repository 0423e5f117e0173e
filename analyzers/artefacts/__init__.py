"""What training writes and estimators read: forests, and the card that says what they know."""
