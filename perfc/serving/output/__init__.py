"""Text and charts of serving reports."""
