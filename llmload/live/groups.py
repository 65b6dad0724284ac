"""Workload classes as small numbers, so that values of all classes can lie in one array. Knows no record."""

MOST = 50
"""Classes that are told apart; a locustfile that names a class for each request gets one more for all the rest."""
REST = "other"


class Groups:
    """Names in the order in which they were first met, the scenario's own first."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}
        for name in names:
            self.code(name)

    def __len__(self) -> int:
        return len(self.names)

    def code(self, name: str) -> int:
        """The number of a class."""
        code = self._codes.get(name)
        if code is None:
            if len(self.names) >= MOST and name != REST:
                return self.code(REST)
            code = self._codes[name] = len(self.names)
            self.names.append(name)
        return code
