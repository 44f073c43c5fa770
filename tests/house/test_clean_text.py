"""What is in the repository speaks of the plugin: of no machine, no registry's host, no author."""

import re

import checkout
import pytest

# Written in two halves, so that this file does not contain what it looks for.
HOSTS = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "registry." + "npmjs",
    "registry." + "yarnpkg",
    "pypi.tuna" + ".tsinghua",
    "mirrors." + "aliyun",
    "mirrors." + "cloud.tencent",
    "proxy." + "golang.org",
    "crates" + ".io",
]
PATHS = ["/work" + "/", "/root" + "/", "bash" + "_jobs", ".py" + "env/versions/3"]
MAKERS = [
    "co-authored" + "-by",
    "clau" + "de",
    "anthro" + "pic",
    "chat" + "gpt",
    "co" + "pilot",
    "as an ai" + " ",
]
# Files and the name of a program that the command line sets up for its users, and its flag: there
# is no other way to say which they are.
PRODUCT = re.compile(
    "|".join(
        rf"{mark}\b"
        for mark in (
            "CLAU" + r"DE\.md",
            "Clau" + "de Code",
            r"\.clau" + "de",
            "--clau" + "de",
        )
    )
)
FORBIDDEN = re.compile(
    "|".join(re.escape(word) for word in (*HOSTS, *PATHS, *MAKERS)), re.IGNORECASE
)


def findings(text: str) -> list[str]:
    """`line: word` for each forbidden word."""
    return [
        f"{number}: {found[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        for found in FORBIDDEN.finditer(PRODUCT.sub("", line))
    ]


def test_no_file_names_a_machine_a_registry_or_an_author() -> None:
    files = checkout.files(new=True)
    assert checkout.ROOT / "Makefile" in files
    reports = {
        file.relative_to(checkout.ROOT).as_posix(): findings(
            file.read_text("utf-8", errors="replace")
        )
        for file in files
    }
    assert {path: found for path, found in reports.items() if found} == {}


@pytest.mark.parametrize("word", [*HOSTS, *PATHS, *MAKERS])
def test_a_planted_word_is_found(word: str) -> None:
    assert findings(f"first line\nand here: {word.upper()} in the middle") != []
