"""English words of manner in their base form, phrases joined by hyphens; what each set is for,
``manner_words`` says."""

from __future__ import annotations

from typing import Final

TOPICS: Final = """
emoji markdown tone voice style manner wording phrase language english chinese bilingual dialect
slang jargon term terminology acronym abbreviation warm warmth kindness friendly patience respect
formal formality informal casual relaxed chatty natural conversational professional serious playful
cheerful lively upbeat positive enthusiastic energetic enthusiasm witty wit humor humour humorous
funny joke pun tease light direct blunt straightforward frank concise brief short crisp compact
simple plain clear clarity precise specific detail thorough complete full long length elaborate
paragraph sentence line bullet list numbered table heading header bold format structure layout
punctuation period question caps lowercase capital greeting greet hello hi goodbye farewell thank
sorry apology apologise apologize nickname conclusion summary summarise step example analogy
metaphor comparison explanation explain follow-up suggestion suggest advice initiative curious
curiosity encourage encouragement supportive support comfort empathy sympathy compassionate caring
diplomatic modest humble praise compliment topic subject mood opening closing intro introduction
vivid poetic storytelling everyday soft smooth welcoming bright quiet measured composed pace slow
quick vocabulary grammar spelling contraction british american metric unit mark vibe attitude
personality demeanor energy sweet cute chill cool punchy elegant graceful refined literary rhyme
poem emphasis highlight overview outline background code-explanation exclamation-mark
exclamation-point full-stop dash cheer optimistic reassure mild moderate subtle sincere sincerity
inclusive congratulate congratulations active-voice passive-voice tense illustration visual
numbering symbol fancy ornate prose verse lyrical rhythm flow pause to-the-point ask start begin end
beginning ending address-people address-user address-everyone dry deep earnest authentic homely cozy
goofy silly wry ironic irony scholarly cinematic economical sparse minimal lean tight rich colourful
colorful expressive animated bubbly sunny soothe steady leisurely brisk official ceremonial
self-deprecating grateful gratitude appreciation appreciate thoughtful responsive emotional
sentimental mature youthful classic modern contemporary accent digit figure decimal oxford-comma
colon bracket parentheses clause noun verb adjective adverb synonym opener closer recommendation
recommend tip recap headline pro contrast imagery angle viewpoint framing transition stage section
chunk column row chart diagram timeline picture conclude engage converse discuss describe sketch
illustrate demonstrate guide teach group sort arrange organise organize merge combine expand extend
translate translation define definition introduce emphasize console inspire honour value celebrate
hope move-on focus concentrate steer vary variety variation alternate rotate balance justification
logic logical cause effect consequence implication listen feedback constructive criticism critique
sandwich pleasant charm fluent fluid coherent orderly systematic riddle limerick rap comic heart
smiley wave grammatical native vernacular street teenage aristocratic victorian pirate cowboy noir
fantasy broadcast journalist editorial essay blog memo bulletin answer reply response respond speech
talk opinion option story message ellipses metric-system heavy-handed room-for fall-flat yes-or-no
yes-no tell-short-joke long-version short-version feeling manners textbook-language big-word
simple-word say-we use-you haha hmm asterisk action-description spice memes texting kinder humanly
spontaneous jolly merry wow hey howdy yo nesting acknowledge-feelings polish everyday-word cheeky
"""
PLAIN: Final = """
a the and call key-point get-to-the-point point-out or if when whenever while unless so that to of
in on at for with by from as like than then there this it its is are be been was have has had can
could may should would will must need please always often sometimes occasionally rarely only just
even still also too very quite really more much many some any each every one two three five six
seven eight nine ten hundred couple both all most first last next before after again once during
between up about around into over under within per same different other another such own way thing
point bit little touch number finish top bottom chat say sound feel look write type use keep stay
make give offer add put try prefer match mirror mix switch stick break group-chat private-chat
people person user someone somebody everyone friend colleague teacher kid beginner newcomer elder
member they them their he she him her you your yourself i me my we how where good well nice better
best great fine easy complex complicated technical daily work sad upset down new close asked welcome
show sense idea thought approach context setting time maximum max minimum small enough extra single
double naturally sincerely comfortable lead main because instead-of-this let-people straight across
whole consistent understand half no-more-than conversation discussion small-talk plainly count
minute everything-else manual sure year old get come now back anything-else whether item the-request
at-someone-expense level help adult student stranger regular together morning evening night weekend
day week especially specifically in-particular unlike although though however due plenty ready able
possibly seemingly quickly history cooking music film movie weather sport life concept method result
solution drop-in joking write-in when-asked information reaction against per-message hour twelve
namely without-asking general special exactly approximately grieve lonely interest wait leave change
let-the truly simply merely fully totally clearly obviously literally basically actually later
only-when high low wide narrow broad otherwise sequentially simultaneously eventually ultimately
mind dive-in cut-to recipe course school college not-too list-of go-deep favour favor something
effort proper people-who definitely express learn practice normal meaning expression environment
preferably hopefully frequently infrequently repeatedly swiftly promptly now-and-then one-sentence
two-sentence rather theory estimate fix problem goal yes people-share open-with words word speak
text doing openly provide skim solve apply coffee habit afraid clean dear fast rough similar slight
spoken weird will-do not-just-what more-than less-than no-later-than none-of disagree pls
let-me-know-if less-is-more faster older younger percent qq mom dad brother sister halfway
upfront-answer comfortably giggly circle-back got sparingly code chatter what-they-meant healthy
"""
NEGATIONS: Final = """
not no never none without avoid less fewer stop skip omit drop cut reduce limit minimise minimize
refrain instead nor neither hardly seldom trim remove resist nothing rather-than lay-off tone-down
don't cannot-be ease-off no-need no-more without-being dial-down dial-back cut-down cut-back cut-out
go-easy-on ease-up steer-clear keep-away do-without never-be leave-off out away aside leave-out
keep-out leave-it-out keep-it-out lest as-little as-little-as tone-it-down dial-it-down dial-it-back
ease-up-on go-light-on light-on swap ditch quit replace go-without lose-the
"""
HONEST: Final = """
admit honest honestly honesty truthful truth accurate accuracy acknowledge own-up correct correction
clarify clarification clarifying verify careful carefully cautious fact factual evidence say-so
say-unsure source cite double-check how-confident how-sure level-of-confidence own-mistakes
own-up-to admit-mistakes say-you-are-unsure say-i-not-know caveat limitation uncertainty transparent
transparency candour candor integrity reliable reliability trustworthy grounded citation
reference-source attribution attribute risk upfront open-about up-front come-from comes-from con
cons drawback downside flaw weakness mention-uncertainty mention-doubt mention-limitation
admit-openly say-you-guess say-when-you-guess say-it-is-a-guess
"""
BAD: Final = """
lengthy filler fluff cliche preachy lecture moralise condescending patronising bossy pushy stiff
robotic robot mechanical cold curt harsh sarcastic sarcasm mock insulting swear curse crude
offensive aggressive impatient arrogant smug overly dramatic drama guess pretend make-up bluff
assume repeat repetition repetitive restating parrot interrupt gossip flood overuse excessive excess
dense buzzword corporate template scripted canned unsolicited obscure confusing brochure advertising
advertisement complaint blame shame judging dismiss tease-too threaten intimidating make-things-up
make-something-up make-it-up talk-down over-apologise over-apologize over-explain rush redundant
shout yell bark demanding command childish dull boring bland careless negative hurt mean talk-over
one-up over-enthusiastic over-the-top over-friendly over-polite over-apologetic grovelling hollow
fake wooden awkwardly hammer drone nonsense dodge manipulate badger nasty vicious cruel abusive
abuse filthy dirty creepy violent disgusting gross excuse force baby-talk absolute drag assumption
unnatural unclear-wording inconsistent racist overload as-an-assistant as-an-ai ai wall annoying
dated sermon preaching padded harp confident cheerleading only-positive only-good only-nice
"""
UNSURE: Final = """
unsure uncertain not-sure not-certain not-know not-understand can-not-tell no-idea mistake mistaken
error wrong incorrect ambiguous unclear not-fully-sure not-entirely-sure not-completely-sure
not-have-the-answer not-know-the-answer lack doubt in-doubt not-clear not-familiar vague
what-you-not-know you-not-know not-remember not-follow not-get-it not-be-sure can-not-answer
can-not-say not-have-enough not-enough-information
"""
DELICATE: Final = """
argue argument politics political religion rude rudeness impolite privacy sensitive awkward
uncomfortable heated refuse decline angry-at hostile insult complain complaining
"""
GENTLE: Final = """
gentle gently polite calm kind patient neutral objective tactfully respectful change-the-subject
reason why
"""
