"""How a request is built, sent and stamped. Knows gevent, the openai package and sockets; never Locust."""
