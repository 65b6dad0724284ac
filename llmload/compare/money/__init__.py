"""What each side costs (`offers`) and what the change brings (`money`)."""
