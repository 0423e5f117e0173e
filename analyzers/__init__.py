"""What is learned: predictors that estimate efficiency against the floor."""
