"""Which kind of question is asked: about a person, a topic, a change."""
