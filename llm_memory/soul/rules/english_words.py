"""English words of manner in their base form, phrases joined by hyphens; what each set is for,
``manner_words`` says."""

from __future__ import annotations

from typing import Final

TOPICS: Final = """
emoji markdown tone voice style manner wording phrasing phrase language english chinese bilingual
dialect slang jargon idiom term terminology acronym abbreviation warm warmth kindness friendly
patience courteous respect formal formality informal casual relaxed easygoing chatty natural
conversational professional serious playful cheerful lively upbeat positive enthusiastic energetic
enthusiasm witty wit humor humour humorous funny joke pun banter tease light lighthearted direct
blunt straightforward frank concise brief succinct short terse crisp compact simple plain clear
clarity precise specific detailed detail thorough complete full long length elaborate paragraph
sentence line bullet bulleted list numbered table heading header bold italic format formatting
structure structured layout code-block spacing emoticon kaomoji sticker exclamation punctuation
comma period ellipsis question mark-question caps uppercase lowercase capital greeting greet hello
hi goodbye farewell thanks thank sorry apology apologise apologize pleasantry nickname honorific
name-form pronoun conclusion summary summarise summarize step step-by-step example analogy metaphor
comparison explanation explain follow-up suggestion suggest advice initiative proactive curious
curiosity encourage encouraging encouragement supportive support comfort empathy empathetic
empathise empathize sympathy compassionate caring considerate tact diplomatic modest humble modesty
praise compliment topic subject mood opening closing sign-off intro introduction vivid poetic
storytelling everyday colloquial layman beginner-friendly readable soft softer soften smooth
approachable personable personal-touch welcoming bright quiet mellow laid-back down-to-earth
matter-of-fact measured composed pace slow quick vocabulary grammar spelling typo contraction
british american metric unit mark vibe attitude personality demeanor energy sweet cute chill cool
snappy punchy breezy dignified elegant graceful refined literary rhyme poem emphasis highlight
overview outline gist takeaway tldr in-depth background rhetorical open-ended plain-text
code-example code-explanation code-comment blank-line white-space indentation ascii hashtag
exclamation-mark exclamation-point full-stop dashes dash semicolon affectionate cheer cheery
optimistic positivity positively reassuring reassure reassurance hospitable mild moderate subtle
subtlety understated sincere sincerity confident-tone relatable inclusive gender-neutral wholesome
easy-to-read easy-to-understand readability conciseness briefly brevity shorter longer congratulate
congratulations wish-well third-person first-person second-person active-voice passive-voice
present-tense tense anecdote illustration visual sentence-case listicle numbering quotation
quote-mark symbol fancy ornate flowery prose verse haiku lyrical rhythm flow pause pacing farewells
to-the-point straight-to-the-point ask start begin end beginning ending address-people address-user
address-everyone address-them address-others address-someone address-each address-member dry deep
deeper forthright candid earnest heartfelt authentic folksy homely cosy cozy quirky goofy silly
whimsical wry deadpan ironic irony nerdy geeky scholarly cinematic pithy economical sparse minimal
minimalist lean tight rich colourful colorful expressive animated bubbly perky chipper sunny
soothing soothe steady unhurried leisurely brisk businesslike official ceremonial deferential
self-deprecating self-deprecation self-aware unassuming gracious grateful gratitude appreciative
appreciation appreciate thoughtful mindful attentive responsive emotional emotive sentimental mature
youthful trendy classic modern contemporary accent digit figure decimal oxford-comma colon bracket
parenthesis parentheses apostrophe hyphen capitalisation capitalization typography clause noun verb
adjective adverb synonym opener closer salutation interjection catchphrase recommendation recommend
tip checklist recap bottom-line headline trade-off pro pros contrast simile imagery nuance angle
viewpoint framing transition signpost stage section chunk column row chart diagram timeline picture
conclude engage converse discuss describe sketch illustrate demonstrate guide teach enumerate group
sort arrange organise organize organised organized indent merge combine condense compress shorten
expand extend rephrase reword paraphrase simplify translate translation define definition spell-out
introduce emphasise emphasize underline lighten brighten console inspire validate sympathise
sympathize honour value celebrate hope slow-down speed-up take-turns move-on focus concentrate steer
redirect vary variety variation alternate rotate balance balanced reasoning justification rationale
logic logical cause effect consequence implication listen listener listening feedback constructive
criticism critique positive-first sandwich reassuringly pleasant pleasantly likeable lovable
charming charm eloquent eloquence articulate fluent fluid coherent cohesive orderly methodical
systematic scannable skimmable bite-sized snack-sized tweet-length one-liner two-liner dad-joke
dad-jokes wordplay riddle limerick rap song-lyric comic meme gif ascii-art reaction-image heart
smiley wave thumbs-up confetti spelling-mistake typo-free grammatical punctual idiomatic native
native-speaker vernacular lingo slangy street teenage gen-z millennial boomer old-school posh
aristocratic shakespearean victorian pirate cowboy noir sci-fi fantasy fairy-tale bedtime-story
sports-commentary newsreader broadcast news-anchor journalist journalistic editorial essay blog
tweet memo email-style letter-style postcard telegram-style bulletin go-into-detail answer reply
response respond speech talk opinion option story message read-easily ellipses metric-system
heavy-handed room-for fall-flat yes-or-no yes-no tell-a-short-joke tell-short-joke tell-joke
tell-story chinese-text long-version short-version feeling jokes-about language-level reading-level
manners etiquette courtesy-title pet-phrase signature-phrase comma-use emoji-use punctuation-use
chit-chat banter-like plain-english everyday-english simple-english textbook-language small-word
big-word long-word hard-word rare-word difficult-word simple-word easy-word short-word say-we
use-you use-we sassy lol haha hehe hmm asterisk action-description spice spice-up loosen-up tone-of
chillax vibes memes small-caps emote uwu chatlike texting texting-style dm-style group-chat-style
kinder nicer gentler calmer sharper human-like humanlike humanly human-sounding off-the-cuff
spontaneous spontaneously comfy zesty peppy zippy jolly merry festive giddy congrats kudos yay
hooray wow hey howdy heya hiya yo imo idk tbh ngl smh omg lmao rofl hehehe hahaha nested-list nested
nesting sub-bullet sub-point subheading subheadings subtitle subtitles caption captions blockquote
blockquotes acknowledge-feelings sweeten polish boil-down boil-it-down pare-down first-name
emoji-free jargon-free everyday-word
cheeky
"""
PLAIN: Final = """
a an the and call key-point key-idea get-to-the-point in-other-words what-they-use title-case
point-out bring-up or but if when whenever while unless so that to of in on at for with by from as
like than then there here this these those it its itself is are be being been was am have has had
can could may might should would will must need want please always often sometimes occasionally
rarely only just even still also too very quite really more much many some any each every one two
three four five six seven eight nine ten twenty thirty fifty hundred several couple few both all
most least first second third last final next before after again once twice during between up about
around into onto over under within per same different other another such own way thing point part
bit little lot touch hint pinch amount number finish middle top bottom chat say sound feel read look
write type use using keep stay remain make give offer add include put try prefer aim choose pick
match mirror adapt adjust fit suit mix switch stick break split separate group-chat private-chat
people person user someone somebody everyone friend colleague neighbour neighbor teacher child kid
beginner newcomer elder member they them their he she him her you your yourself i me my we us our
how where appropriate suitable necessary possible helpful useful relevant good well nice better best
great fine ok okay easy hard difficult complex complicated technical topical academic daily work
study sad upset angry tired nervous anxious frustrated happy excited down confused busy new familiar
close asked wish welcome refer mention-thanks show sense idea thought choice approach context
situation setting moment time case maximum max minimum below small big large tiny medium moderately
somewhat enough extra single double naturally genuine sincerely comfortable ease lead main important
essential core relax breathe think because since instead-of-this let-people straight across whole
entire consistent overall turn room understand understood care half reader aloud no-more-than
conversation discussion exchange dialogue smalltalk small-talk plainly count minute glance rest
everything-else manual textbook sure year old get come now back else anything-else whether item
the-request a-request their-request question-request at-someone-expense at-anyone-expense
at-other-people-expense at-the-expense level help assistance do-so to-do folk mate guy buddy pal sir
madam coach tutor mentor librarian host barista grandparent sibling teammate peer adult teenager
pupil student nonexpert non-expert expert layperson newbie stranger regular together alike
whole-answer morning afternoon evening night late weekend holiday today day week mostly-when
especially specifically particular in-particular except unlike although though however also-when due
depend based in-general in-practice default as-if plenty enough-detail ready able possibly perhaps
maybe seem seemingly appear quickly soon right-away math science history programming coding cooking
travel music film movie game homework exam weather sport pet stories tale life practical
everyday-life concept idea-behind process method task-like quick-check result outcome solution
alternative can-you go-for go-easy lean-toward sprinkle throw-in drop-in tell-a-joke tell-jokes
tell-a-story crack-a-joke poke-fun fun joking respond-in write-in speak-in if-any when-asked
if-asked more-info information details-on anything-useful wrap-up sum-up check-in check-whether
react reaction handle treat-people deal-with among toward along against per-message per-reply hour
twelve fifteen zero half-page quarter for-example for-instance eg etc ie namely without-asking
general special ordinary usual typical common rare exactly approximately in-a-row in-turn in-order
order-of sequence numbered-order side left-out space gap beyond besides apart instead-of-using
audience grieve grief loss lose bereavement sick ill illness unwell lonely sadness anger joy joyful
happiness worry stress stressed-out overwhelmed hurry pressed deadline struggle stuck curious-about
interest bored boredom take hold wait leave intend strive change fresh new-topic return continue
carry-on let-others let-them let-the let-user truly simply merely fully completely totally clearly
obviously literally basically actually later off ahead only-if only-when as-long if-needed
when-needed if-possible when-possible if-relevant if-appropriate high low higher lower greater
lesser stronger strong weak weaker heavier lighter lightly wide wider narrow broad broader minor
major primary secondary central additional further furthermore moreover otherwise therefore thus
hence given suppose assuming-that plus minus equal likewise either whichever-fits gradual step-wise
sequentially simultaneously meanwhile eventually ultimately line-by-line word-for-word
back-and-forth face-to-face talk-about ask-about wonder consider regard concerning respect-for
attention pay-attention mind bear-in-mind keep-in-mind take-it-slow catch hang move step-back
zoom-out zoom-in dive dive-in dig dig-in jump jump-in cut-to build warm-up cool-down calm-down
cheer-up lighten-up loosen open-up instruction-list tutorial recipe walkthrough faq guidebook
handbook lesson course class school university college exam-prep essay-help translation-help
brainstorm plan hobby interest-in sports-talk cooking-tips painting drawing photography fitness
health-free long-time old-timer crowd team crew community club chatroom channel-wide everyone-in
public-chat large-group small-group group-of too-long too-short too-slow too-formal too-casual
too-serious too-dry too-quiet too-stiff too-vague too-wordy too-eager so-long not-too in-this-way
in-that-way in-a-way kind-of sort-of piece-of dash-of pair-of set-of series-of list-of style-of
lack-of go-deep favour favor all-right something effort proper who-write who-ask who-speak
people-who user-who someone-who those-who anyone-who everyone-who others-who person-who somebody-who
member-who amazing awesome made glad definitely nature find difference enjoy enjoyable favorite
favourite creative beautiful peaceful perfect express exciting lucky learn young perspective near
notice importance become shape impressive brave thrilled blessing achieve achievement success
succeed progress improve improvement challenge reach grow growth practice skill inspiration
inspiring uplifting heartwarming normal meaningful meaning crucial relief motivation motivate
potential talent passion passionate expression energy-level spark stir fair environment relation
relationship friendship connect connection bond companion presence spirit soul-free certain-tone
refresh creativity imagination flavor flavour taste color colour vibrant calmness patience-level
ideal realistic require effective efficient proportion proportional proportionate relative
sufficient adequate excellent decent acceptable preferable preferably hopefully honestly-said
frequently infrequently constant repeatedly quietly swiftly promptly timely-manner immediate instant
initial avoidable understandable easier easiest harder hardest simplest biggest smallest shortest
longest anytime anywhere everywhere somewhere nowhere once-in-a-while now-and-then off-and-on
on-occasion as-always word-choice sentence-length reply-length answer-length message-length
paragraph-length short-form long-form medium-length mid-length one-sentence two-sentence one-line
two-line one-word two-word one-paragraph multi-paragraph full-length sender recipient counterpart
interlocutor conversation-partner chat-partner asker questioner rather theory estimate fix problem
goal wise smart clever proud fall flat yes people-share share-good-news share-happy open-with heavy
words word speak text in-the-text doing openly provide skim solve happen occur arise involve relate
apply serve manage select prioritise prioritize explore reflect imagine realise realize recognise
recognize invite smile laugh cry sigh grin giggle chuckle nod wink clap sing hum whisper murmur
coffee tea breakfast lunch dinner feelings emotion ear tongue season form pattern habit routine
custom culture tradition trend theme degree extent depth height width intent intention benefit
advantage trouble difficulty field domain craft pleasure peace pride courage tears surprise gift
dream afraid alone aware awake alive annoyed ashamed bitter blank cheap clean current dark dear
empty famous fast firm foreign free grand impossible inner lazy local loose loud missing neat noisy
odd original poor popular present pretty probable pure recent rough round shallow sharp shy similar
slight social solid spare spoken written stable strange strict sudden tall tender thick thin tough
unique unusual upper valuable weird wild senior junior male female regional will-do
what-someone-mean what-people-mean what-they-mean what-user-mean not-just-what more-than less-than
no-later-than none-of out-loud generous moderation in-moderation careful-with kitchen garden theatre
theater football basketball chess running walking swimming cycling hiking dancing sleeping eating
drinking shopping minute-long opening-part side-note footnote aside-note afterthought disagree
disagreement pls plz kinda gonna wanna super stuff thanks-for let-me-know let-me-know-if
keep-it-real less-is-more tell mentions goes going gone anyway anymore already yet ever whatsoever
tad faster fastest weirder louder smarter shallower darker looser cleaner tidier messier older
younger bigger smaller percent thousand dozen handful load tons bunch slab screen mobile discord
wechat qq reply-chain scroll spelled old-fashioned grown-up childlike family-friendly robot-ish
personlike dude bro bruh sis mum mom dad grandma grandpa auntie uncle brother sister roommate
flatmate classmate gamer nerd geek lad lass chap bloke gal honey sweetie bestie fam y'all yall
everybody midway halfway mid-sentence mid-chat upfront-answer right-at right-off right-into for-real
in-real-life on-the-spot on-the-fly off-hand offhand improvised polished unpolished raw-tone edgy
laidback relaxed-ish comfortably homespun rustic earthy zingy giggly laughable chuckle-worthy groan
eye-roll eyeroll smirk shrug hug fist-bump props bravo whoa oops oof ouch nah yep yup nope yeah sup
g'day bye cya ttyl brb btw imho fyi asap afaik rn hmmm umm uhh err ahem aha ah oh ooh aw aww
screenful screen-length wiki-style divider separator inline-code monospace walk-through
walk-me-through walk-us-through walk-people-through talk-through talk-me-through think-through
go-straight cut-to-the-chase wrap-it-up wrap-things-up trail-off tail-off chip-in pitch-in weigh-in
chime-in let-finish let-someone-finish acknowledge-first opt resort-to rely-on watch-your ramp dial
notch smarten spruce tidy polish-up distil distill strip-down pare slim stretch go-on linger
circle-back loop-back got gotten gave began became felt kept meant told-off sparingly code chatter
what-they-meant what-it-mean first-name bother bothered cat dog kitten puppy baby trip cook
commute bus train weekday rough-patch bad-day breakup layoff burnout tired-out sleepy hungry snack
half-baked big-deal deal bite bite-size crunch crunchy nugget quirk quirks pocket-sized ballpark
newline newlines whitespace fluff-free waffle-free
vent venting healthy
"""
NEGATIONS: Final = """
not no never none without avoid less fewer stop skip omit drop cut reduce limit minimise minimize
refrain instead nor neither hardly seldom trim remove resist nothing rather-than lay-off tone-down
don't cannot-be ease-off no-need no-more without-being dial-down dial-back cut-down cut-back cut-out
go-easy-on ease-up steer-clear keep-away do-without never-be leave-off out away aside leave-out
keep-out leave-it-out keep-it-out lest as-little as-little-as tone-it-down dial-it-down dial-it-back
ease-up-on go-light-on light-on
swap ditch quit replace go-without lose-the
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
ramble rambling wordy verbose verbosity lengthy long-winded filler fluff padding waffle boilerplate
cliche preachy preach lecture lecturing moralise moralize moralising moralizing condescending
condescension patronising patronizing patronise patronize bossy pushy nagging nag pedantic stiff
robotic robot mechanical cold curt harsh snarky snark sarcastic sarcasm mocking mock cynical
insulting swear swearing curse cursing profanity vulgar crude offensive aggressive impatient
arrogant smug flattery flatter flattering sycophantic fawning gushing cheesy corny cringe overdo
overly overly-formal exaggerate exaggeration dramatic drama hype hyperbole guess guessing pretend
pretending make-up invent bluff assume speculate overconfident dogmatic repeat repetition repetitive
repeating restate restating parrot interrupt interrupting gossip pry intrusive spam flood overuse
overusing excessive excess clutter cluttered dense wall-of-text buzzword corporate salesy template
templated scripted canned unsolicited unasked obscure confusing flirty flirt chatbot call-centre
call-center customer-service customer-support brochure advert advertising advertisement clickbait
melodramatic whiny whine complaint blame blaming shame shaming judgmental judgemental judging scold
scolding nitpick belittle dismissive dismiss tease-too threaten threatening intimidate intimidating
walls-of-text make-things-up make-something-up make-stuff-up make-it-up making-up fabricate
fabricating beat-around-the-bush talk-down show-off over-apologise over-apologize over-explain
overexplain overexplaining rush rushed rushing babble babbling fluffy wordiness redundancy redundant
legalese officialese bureaucratic cluttering oversharing overshare meme-spam shout shouting yell
yelling bark demanding commanding command nosy sappy clingy childish immature pompous pretentious
show-offy monotone dull boring bland sloppy careless hasty negativity negative pessimistic gloomy
sneer sneering taunt taunting hurt hurtful mean offend stereotype stereotyping body-shaming
self-important self-righteous self-congratulatory holier-than-thou know-it-all mansplain
mansplaining talk-over talking-over one-up one-upping grandstand grandstanding virtue-signal
hot-take clickbaity cutesy saccharine syrupy sugary mushy schmaltzy over-enthusiastic over-the-top
over-excited over-friendly over-familiar overfamiliar over-polite overpolite over-apologetic
apologetic obsequious grovel grovelling groveling servile kowtow toady suck-up sucking-up brown-nose
yes-man hollow empty-praise empty-phrase empty-words insincere fake faked fakery forced-cheer forced
stilted wooden awkwardly clunky choppy disjointed rambling-on meander meandering tangent tangential
digress digression off-topic derail derailing sidetrack hammer drone drone-on blather prattle jabber
yap yapping word-salad gibberish nonsense mumbo-jumbo gobbledygook technobabble psychobabble
newspeak doublespeak weasel-word weasel-words evasive evade dodge dodgy stonewall deflect deflecting
gaslight gaslighting manipulate manipulating manipulative coerce coercive guilt-trip nag-people
hassle hassling pester pestering badger badgering bully bullying tease-cruelly ridicule ridiculing
deride demean demeaning degrade degrading humiliate humiliating mean-spirited nasty spiteful vicious
cruel abusive abuse obscene obscenity filthy dirty raunchy lewd sleazy creepy violent gory
disgusting gross made-up making-things-up hard-to-understand hard-to-read difficult-to-understand
difficult-to-read excuse excuses force forcing forced-joke baby-talk absolute mumble mumbling
stutter stammer drag dragging assumption assuming presumptuous presume snobbish snob elitist crass
tactless inconsiderate thoughtless heartless unkind unfriendly unhelpful disrespect disrespectful
impersonal unnatural unclear-wording inconsistent inconsistency incoherent unprofessional sexist
racist ageist overload overloading as-an-assistant as-an-ai as-a-bot as-a-language-model ai
corporate-speak pr-speak legal-speak robot-like bot-like pick-me try-hard tryhard wall walls
annoying annoyingly irritating tiring exhausting distracting jarring grating outdated dated stale
trite overused hackneyed childish-sounding adultlike rehearsed scripted-sounding ugh meh mini-essay
mini-lecture soapbox rant rants ranting monologue monologues speechify speechy sermon sermons
preaching press-release pressrelease encyclopedic template-like butt-in sugarcoat sugar-coat
sugarcoating water-down dumb-down dumbing-down padded long-drawn drag-on go-on-and-on harp harp-on
dwell-on confident overconfidence cheerleading cheerleader
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
gentle gently polite politely calm calmly kind kindly patient patiently neutral objective tactful
tactfully respectful respectfully change-the-subject reason why
"""
