"""A fuzz target: one file with LLVMFuzzerTestOneInput, and a corpus."""

load("@rules_cc//cc:defs.bzl", "cc_test")
load("//tools:copts.bzl", "DRAFTMARK_COPTS")

def fuzz_target(name, deps, corpus = [], dictionary = None, size = "small"):
    """A test that replays the corpus, and under --config=fuzz a libFuzzer program (tools/fuzz runs those).

    Args:
      name: of the target; the source is NAME.cc, and the files in testdata/NAME/ belong to the corpus.
      deps: what the source includes; FuzzExpect is always there.
      corpus: labels of further files to start from, such as goldens.
      dictionary: label of a file of libFuzzer's -dict, which only the fuzzer reads.
      size: of the test.
    """
    files = native.glob(["testdata/{}/*".format(name)]) + corpus
    native.filegroup(
        name = name + ".corpus",
        srcs = files,
        testonly = True,
    )

    # tools/fuzz finds it by its name.
    native.filegroup(
        name = name + ".dict",
        srcs = [dictionary] if dictionary else [],
        testonly = True,
    )
    cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        args = ["$(rootpaths :{}.corpus)".format(name)],
        copts = DRAFTMARK_COPTS,
        data = [":{}.corpus".format(name)],
        linkopts = select({
            "//src/base/fuzzing:fuzz": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = ["fuzz"],
        deps = deps + ["//src/base/fuzzing:fuzz_expect"] + select({
            "//src/base/fuzzing:fuzz": [],
            "//conditions:default": ["//src/base/fuzzing:replay_main"],
        }),
    )
