"""What English questions for a topic look like, from their first word to their last. Pure."""

from __future__ import annotations

from typing import Final

from ....models.data_models import Topic

_MINE = r"(?:my|our)"
_LIKINGS = (
    r"(?:(?:food|personal|dietary|general) )?(?:preferences?|likes and dislikes|likes|"
    r"dislikes|tastes|hobbies|"
    r"favou?rites|dietary restrictions|food allergies|allergies|pet peeves)"
)
_RULES = (
    r"(?:(?:standing|house) )?(?:rules?|instructions?|guidelines|orders|requirements|directives)"
)
_OPEN = r"(?:open|pending|outstanding|unfinished|remaining|undone|current|unresolved|due)"
_DUTIES = (
    r"(?:tasks?|to-?dos?|to do(?: list)?|to-?do (?:list|items)|task list|action items|chores|"
    r"errands)"
)
_SHOW = (
    r"(?:(?:can|could|would) you )?(?:please )?(?:list|show|tell|give|repeat|recap|summari[sz]e|"
    r"read(?: out)?|remind)(?: me)?(?: of)?"
)
_RECALL = r"(?:do you )?(?:still )?(?:remember|know|recall)"
_LATER = r"(?: today| for today| this week| tomorrow| right now| now| left| still)*"

ENGLISH: Final[tuple[tuple[Topic, bool, str], ...]] = (
    (Topic.PREFERENCES, False, rf"what(?: a|')?re (?:all )?(?:of )?{_MINE} {_LIKINGS}"),
    (Topic.PREFERENCES, False, rf"{_SHOW}(?: all)?(?: of)? (?:what )?{_MINE} {_LIKINGS}(?: are)?"),
    (
        Topic.PREFERENCES,
        False,
        rf"{_RECALL} (?:all )?(?:of )?(?:what )?{_MINE} {_LIKINGS}(?: are)?",
    ),
    (
        Topic.PREFERENCES,
        False,
        rf"(?:what|which) {_LIKINGS} (?:do (?:i|we) have"
        r"|have i (?:told you|mentioned|given you|shared)"
        r"|did i (?:tell you|mention|share))(?: about)?",
    ),
    (Topic.PREFERENCES, False, rf"do (?:i|we) have any {_LIKINGS}"),
    (
        Topic.PREFERENCES,
        True,
        r"what (?:\w+ ){0,2}?do (?:i|we) (?:usually |really |generally )?"
        r"(?:like|love|prefer|hate|dislike|enjoy)"
        r"(?: to (?:eat|drink|read|watch|play|wear|do|listen to)"
        r"| eating| drinking| doing| reading| watching| playing)?"
        r"(?: the most| most| best)?",
    ),
    (Topic.PREFERENCES, True, r"what am i allergic to|what(?: i|')s my favou?rite \w+(?: \w+)?"),
    (
        Topic.INSTRUCTIONS,
        False,
        rf"(?:what|which) {_RULES} (?:did|have) (?:i|we) "
        r"(?:give|given|set|make|made|tell|told|lay down|laid down)"
        r"(?: for)?(?: you)?(?: to follow| so far)?",
    ),
    (
        Topic.INSTRUCTIONS,
        False,
        rf"(?:what|which) {_RULES} (?:do|must|should|are) you (?:have to |need to |supposed to )?"
        r"(?:follow|following|obey|keep|have|under)",
    ),
    (Topic.INSTRUCTIONS, False, rf"(?:what|which) {_RULES} apply to you"),
    (Topic.INSTRUCTIONS, False, rf"what(?: a|')re (?:your|my|our) {_RULES}(?: for you)?"),
    (
        Topic.INSTRUCTIONS,
        False,
        rf"what(?: a|')re the {_RULES} (?:i|we) (?:gave|set|made|told|have given)"
        r"(?: for)?(?: you)?",
    ),
    (
        Topic.INSTRUCTIONS,
        False,
        rf"(?:{_SHOW}|{_RECALL})(?: all)?(?: of)? (?:your {_RULES}|my {_RULES}(?: for you)?"
        rf"|the {_RULES} (?:i|we) (?:gave|set|made|told)(?: for)?(?: you)?)",
    ),
    (
        Topic.INSTRUCTIONS,
        False,
        r"what (?:did i (?:tell|ask|instruct)|have i (?:told|asked|instructed)) you "
        r"(?:to always|to never|always to|never to|not to) (?:do|say)",
    ),
    (
        Topic.TASKS,
        False,
        r"(?:are there |do (?:i|we) have |have i got |is there )?(?:any|some) "
        rf"(?:{_OPEN} )?{_DUTIES}(?: {_OPEN}| to do| to finish)?{_LATER}",
    ),
    (Topic.TASKS, False, rf"what(?: a|'| i|)(?:re|s) {_MINE} (?:{_OPEN} )?{_DUTIES}{_LATER}"),
    (Topic.TASKS, False, rf"what(?: a|')re the {_OPEN} {_DUTIES}{_LATER}"),
    (
        Topic.TASKS,
        False,
        rf"(?:what|which) (?:{_OPEN} )?{_DUTIES} (?:do (?:i|we) (?:still )?have"
        rf"|are (?:still )?(?:{_OPEN}|left|there)|remain"
        r"|have(?:n't| not) (?:i|we) (?:done|finished)|have (?:i|we) not (?:done|finished))"
        rf"(?: to do)?{_LATER}",
    ),
    (
        Topic.TASKS,
        False,
        rf"what(?: i|')s (?:left |still )?on {_MINE} (?:to-?do|to do|task) ?(?:list)?{_LATER}",
    ),
    (Topic.TASKS, False, rf"what(?: i|')s (?:left|still) to (?:do|be done){_LATER}"),
    (Topic.TASKS, False, rf"what (?:else )?do (?:i|we) (?:still )?(?:have|need) to do{_LATER}"),
    (
        Topic.TASKS,
        False,
        rf"{_SHOW} (?:all )?(?:of )?(?:{_MINE} (?:{_OPEN} )?|(?:the |all )?{_OPEN} )"
        rf"{_DUTIES}{_LATER}",
    ),
    (Topic.TASKS, False, rf"{_RECALL} (?:what )?{_MINE} (?:{_OPEN} )?{_DUTIES}(?: are)?{_LATER}"),
)
"""Topic; whether a part of it is asked for; the words."""

_FINISHED = r"(?:done|finished|completed|closed)"

ENGLISH_DONE: Final[tuple[str, ...]] = (
    rf"(?:what|which) {_DUTIES} (?:have (?:i|we) (?:already )?{_FINISHED}"
    rf"|did (?:i|we) (?:already )?(?:do|finish|complete|close)|are (?:already )?{_FINISHED})",
    rf"{_SHOW} (?:all )?(?:of )?(?:the |{_MINE} )?{_FINISHED} {_DUTIES}",
    rf"what(?: a|')re (?:the |{_MINE} ){_FINISHED} {_DUTIES}",
)
"""Questions for the tasks that are done."""
