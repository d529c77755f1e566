"""A test of who can see whom, by Bazel's own visibility: rooms_test."""

def rooms_test(name, rooms, forbidden, used):
    """Fails if Bazel would let a room depend on one that is forbidden to it, or not on one that it uses.

    Args:
      name: of the test.
      rooms: room -> label of a target of it.
      forbidden: room -> rooms that must be invisible to it.
      used: room -> rooms that must be visible to it; shows that the queries see something.
    """
    queries = []
    for kind, table in [("forbidden", forbidden), ("missing", used)]:
        for room, others in table.items():
            labels = [rooms[other] for other in others]
            found = "visible({}, set({}))".format(rooms[room], " ".join(labels))
            query = "{}.{}.{}".format(name, kind, room)
            native.genquery(
                name = query,
                # Must be empty.
                expression = found if kind == "forbidden" else "set({}) - {}".format(" ".join(labels), found),
                scope = [rooms[room]] + labels,
                testonly = True,
            )
            queries.append(query)
    native.sh_test(
        name = name,
        size = "small",
        srcs = ["//tools/rooms:all_empty.sh"],
        args = ["$(rootpath :{})".format(query) for query in queries],
        data = queries,
    )
