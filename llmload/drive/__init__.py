"""The Locust edge: users, the run driver, and the way of the records from worker to master."""
