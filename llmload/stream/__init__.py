"""From bytes with stamps to a record. Pure: no clock, socket, file, gevent or Locust."""
