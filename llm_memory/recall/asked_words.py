"""Words by which a message asks, as ``asked_words.json`` has them, by language.

- attributes may be asked of anything (地址呢, "the price?"); a measure counts behind a number or a
  question word (几点, 哪家); a verb of one character says nothing by itself (谁陪她, 住哪); small
  words stand beside them: with these one asks more of what was spoken of, and names nothing else;
- heads are the head nouns of each topic and of days, the verbs that ask for a person, and what says
  nothing beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

WORDS: Final[dict[str, Any]] = json.loads(
    Path(__file__).with_name("asked_words.json").read_text("utf-8")
)
HEADS: Final[dict[str, dict[str, str]]] = WORDS["heads"]
