"""What counts as an abstention, and what as "invalid question".

An answer abstains if every one of its segments (split at punctuation) is a refusal or an empty phrase
("sorry", "based on the references"), and at least one is a refusal. One segment that says anything else, as in
"I don't know why people doubt it, but it is Paris", makes it an answer. The judge of answers, not this module,
decides on hedges such as "Paris, but I'm not sure".

Decided here: "N/A", "not available" and "unknown" abstain; "none", "nobody" and "nothing" are answers; a guess
in a refusal ("I'm not sure if it is Paris") is an answer. Titles and names that read like a refusal ("Not Sure")
cannot be told apart without the reference: the grader lets a match with an accepted answer win.
"""

from __future__ import annotations

import re
import unicodedata

from tasks.verify.spelling import one_spelling

MAX_CHARS = 300
"""Longer answers are never refusals: bounds the time, and nobody needs more to say nothing."""

_ADVERB = (
    r"(?:(?:really|honestly|truly|actually|just|simply|currently|still|genuinely|personally|sadly|regrettably"
    r"|unfortunately|yet|even) ){0,2}"
)
_NOT = r"(?:do ?nt|don t|do not|did ?nt|didn t|did not|would ?nt|wouldn t|would not)"
_TELLING = (
    r"but|except|besides|than|only|though|although|however|because|since|unless|if|not|yet|until|perhaps|maybe"
    r"|probably|likely|assume|guess|believe|think"
)
"""Words after which a clause may give an answer after all."""
_TAIL = rf"(?: (?!(?:{_TELLING})\b)[^ ]+){{1,12}}"
_NOUN_TAIL = rf"(?: (?!(?:{_TELLING}|is|are|was|were)\b)[^ ]+){{1,12}}"
_INDIRECT = (
    rf"(?:who|whom|whose|when|where|which|what|how (?:many|much|old|long|tall|far|often|large|big))(?! to\b){_TAIL}"
)
_QUESTION = r"(?:(?:this|that|the|your) )?(?:question|one|request)"
_OBJECT = (
    rf"(?:(?:it|this|that|sorry|yet|so|anything)|(?:this|that) one|for (?:sure|certain)|at (?:this time|the moment|all)"
    rf"|(?:an?|the|any|that|this) (?:\w+ ){{0,2}}answer(?: (?:to|for) {_QUESTION}| for (?:sure|certain))?"
    rf"|{_INDIRECT}|(?:the|his|her|its|their|any|enough|anything){_NOUN_TAIL}"
    rf"|(?:about|of|on) (?:it|this|that|{_INDIRECT}|(?:the|his|her|its|their|my){_NOUN_TAIL})"
    rf"|(?:from|based on|with|given|using|to) (?:the|these|this|that|your|my|any|answer){_NOUN_TAIL}"
    rf"|{_QUESTION}|(?:you )?with (?:this|that))"
)
_SUBJECT = r"(?:(?:i|we) )?"
_INFORMATION = r"(?:information|data|details|context|knowledge|evidence)"
_SOURCES = r"(?:references?|context|documents?|sources?|passages?|texts?|information|pages?|search results)"
_KNOWLEDGE = (
    rf"{_SUBJECT}{_ADVERB}{_NOT} {_ADVERB}(?:know|recall|remember)(?: {_OBJECT})?",
    rf"(?:idk|dunno|{_SUBJECT}dunno|i dk)(?: {_OBJECT})?",
    rf"(?:(?:i ?m|i am|we are|i remain|i feel) )?{_ADVERB}(?:not (?:(?:very|entirely|completely|quite|really|too|so"
    rf"|100%|fully|absolutely|at all) )?(?:sure|certain|confident)|unsure|uncertain)(?: {_OBJECT})?",
    rf"{_SUBJECT}{_ADVERB}(?:have |ive |ive got |got )?(?:absolutely )?no (?:idea|clue)(?: {_OBJECT})?",
    rf"{_SUBJECT}{_NOT} have (?:a|any|the) (?:slightest )?(?:idea|clue)(?: {_OBJECT})?",
    r"(?:(?:it|this|that|the answer) is )?(?:beyond|outside)(?: of)? my knowledge",
)
_ABILITY = (
    rf"(?:(?:i|we|it|this|that|the answer|the question|this question) )?{_ADVERB}(?:(?:am|is|was|are) )?(?:im )?"
    rf"(?:can ?not|cant|can t|could ?nt|could not|unable to|not able to|not possible to|impossible to) {_ADVERB}"
    r"(?:be )?(?:determined?|answer(?:ed)?|say|tell|know|known|find|found|confirm(?:ed)?|verif(?:y|ied)|recall|remember"
    r"|establish(?:ed)?|identif(?:y|ied)|provide|give|sure|certain|decide|help|assist)"
    rf"(?: {_OBJECT})?",
    r"(?:id|i would|i d|id much|i would much) rather not (?:answer|guess|say|speculate)(?: that| this)?",
    r"i prefer not to (?:answer|guess|say|speculate)",
    rf"(?:i (?:must |will |would |have to |choose to )?)?(?:abstain|refrain from answering|decline to answer)"
    rf"(?: {_OBJECT})?",
)
_ABSENCE = (
    r"(?:(?:(?:the|this|that) (?:answer|information)|answer|it|this|that) (?:is|remains) )?(?:currently |still )?"
    r"(?:unknown|not known|unclear|not clear)(?: to me| at this time| to us)?",
    r"notavailable|not available|not applicable|no answer(?: (?:available|found|given|possible))?",
    rf"(?:(?:there is|theres|there s|i have|we have) )?(?:not enough|insufficient|not sufficient) {_INFORMATION}"
    rf"(?:{_TAIL})?",
    rf"(?:(?:there is|theres|there s|i have|we have) )?no (?:\w+ )?information"
    rf"(?: (?:available|found|given|provided|about|on|to|in){_TAIL}| (?:available|found|given|provided))?",
    r"there(?: i)?s no way (?:to know|of knowing|to tell)|information not available"
    rf"|not (?:mentioned|given|stated|provided)(?: (?:in|by) (?:the|these|any){_NOUN_TAIL})?",
    rf"{_SUBJECT}{_NOT} (?:have|possess) (?:enough|any|sufficient|the|that|this|reliable|access to)"
    rf" (?:\w+ ){{0,2}}{_INFORMATION}(?:{_TAIL})?",
    rf"{_SUBJECT}lack (?:the |enough |sufficient )?(?:\w+ )?{_INFORMATION}(?:{_TAIL})?",
    r"(?:(?:the|this|that) )?(?:answer|information|it|that|this) (?:is|was) (?:not |un)"
    rf"(?:available|provided|given|found|mentioned|stated|specified)(?:{_NOUN_TAIL})?",
    rf"(?:the|these|your|my|this) (?:given |provided |available )?{_SOURCES} do(?:es)? ?(?:nt|not|n t) (?:\w+ly )?"
    rf"(?:mention|say|contain|provide|state|specify|tell|give|include|answer|indicate|have)(?:{_TAIL})?",
)
_OTHER_LANGUAGES = (
    r"(?:je )?(?:ne )?(?:le )?sais pas(?: la reponse)?|je lignore|je ne suis pas sure?"
    r"|(?:je nai )?aucune idee|inconnue?",
    r"(?:das )?(?:ich )?weiss (?:ich )?(?:es |das )?(?:leider )?nicht|(?:ich habe )?keine ahnung"
    r"|(?:ich )?bin (?:mir )?nicht sicher|unbekannt",
    r"(?:yo )?no (?:lo )?se(?: la respuesta)?|no estoy segur[oa]|(?:no tengo )?ni idea|desconocid[oa]",
    r"(?:io )?non (?:lo )?so|non (?:ne )?sono sicur[oa]|non ne ho idea|(?:eu )?nao (?:o )?sei|nao tenho certeza",
    r"ik weet het niet|geen idee|jag vet inte|jeg (?:vet|ved) (?:det )?ikke|en tieda|nie wiem|nevim|nu stiu|nem tudom",
    r"(?:я )?не знаю|(?:я )?не уверена?|неизвестно|не знам|(?:toi )?khong biet|bilmiyorum|(?:saya )?tidak tahu",
    r"δεν ξερω|לא יודעת?|אני לא יודעת?|لا (?:أعرف|اعرف|أعلم|اعلم|أدري|ادري)",
    r"मुझे (?:नहीं पता|पता नहीं)|(?:ฉัน)?ไม่ทราบ|(?:ฉัน)?ไม่รู้",
    r"(?:抱歉|对不起|對不起)?我?(?:也)?(?:不知道|不清楚|不确定|不確定|不晓得|不曉得)(?:答案|这个问题的答案)?",
    r"(?:我)?(?:无法|無法)(?:确定|確定|回答|得知)(?:这个问题)?",
    r"(?:答えは?)?(?:わかりません|分かりません|わからない|分からない|知りません|知らない|不明です?)",
    r"(?:잘 ?)?(?:모르겠습니다|모르겠어요|모릅니다|몰라요|모르겠다)",
)
_LEAD = (
    r"(?:(?:but|so|and|because|as|since|therefore|thus|then|sorry|well|unfortunately|honestly|i ?m sorry|i am sorry"
    r"|i ?m afraid|i am afraid|i think|i guess|i must admit|i have to admit|i must say|to be honest|that"
    r"|(?:(?:the|my) )?(?:final )?answer(?: is)?|currently|at this time|oh|hmm) ){0,3}"
)
_TRAIL = r"(?: (?:sorry|at this time|at the moment|right now|for now|for sure|honestly|unfortunately|either))?"
_EMPTY = (
    r"(?:i ?m |i am |we are )?(?:so |very |really )?sorry|(?:my )?apolog(?:y|ies)|i apologi[sz]e|unfortunately|hmm+"
    r"|well|oh|honestly|frankly|to be honest|therefore|thus|so|at this time"
    r"|as an ai(?: language)?(?: model| assistant)?"
    r"|(?:(?:the|my) )?(?:final )?answer(?: is)?"
    rf"|(?:based on|from|in|given|according to) (?:what i know|(?:(?:the|these|my|this) )?"
    rf"(?:given |provided |available )?(?:{_SOURCES}|knowledge))"
    r"|desolee?|lo siento|(?:es )?tut mir leid|leider|すみません|抱歉|对不起|죄송합니다"
)
_REFUSAL = re.compile(
    f"{_LEAD}(?:{'|'.join((*_KNOWLEDGE, *_ABILITY, *_ABSENCE))}){_TRAIL}|{'|'.join(_OTHER_LANGUAGES)}"
)
_EMPTY_PHRASE = re.compile(_EMPTY)

_FALSE = r"(?:invalid|false|incorrect|wrong|flawed|faulty|mistaken|untrue|not (?:valid|true|correct))"
_BASIS = r"(?:premises?|assumptions?|presuppositions?)"
_PREMISE = re.compile(
    rf"(?:(?:(?:the|my) )?(?:final )?answer(?: is)? |so |therefore )?(?:"
    rf"(?:(?:this|that|it|the question|this question) (?:is|has|contains) )?(?:an? |the )?{_FALSE} "
    rf"(?:question|{_BASIS})(?: question)?"
    rf"|(?:(?:the|this|that|your) )?question(?: itself)? (?:is|seems|appears to be|seems to be) {_FALSE}"
    rf"|(?:(?:the|its|this) )?(?:question s |questions )?{_BASIS}(?: (?:of|in|behind) (?:the|this) question| here)? "
    rf"(?:is|are) {_FALSE}"
    rf"|there is an? {_FALSE} {_BASIS}|(?:the|this) question (?:assumes|presupposes) something {_FALSE}"
    rf"|(?:the|this|that|your) question (?:contains|has|makes|includes|rests on|is based on|relies on|starts from) "
    rf"(?:an? )?{_FALSE} {_BASIS}"
    r"|question (?:invalide|non valide)|ungultige frage|pregunta (?:invalida|no valida)|domanda non valida"
    r"|(?:无效|無效)(?:的)?(?:问题|問題)|無効な質問|잘못된 질문"
    r")(?: (?:because|since|as) .+)?"
)
_REASON_FOLLOWS = re.compile(" (?=because |since )")
_REASON = re.compile(r"(?:because|since|as) .+")
_DENIAL = re.compile(
    r"(?!.*\b(?:but|rather|instead|actually|answer|if)\b).*"
    r"\b(?:never|not|no such|false|cannot|cant|(?:is|was|did|does|has|have|had|are|were)nt)\b.*"
)
"""A segment that only denies, as "he never won one"."""


def is_refusal(answer: str) -> bool:
    """Whether the answer abstains and says nothing else."""
    segments = [clause for segment in _segments(answer) for clause in _REASON_FOLLOWS.split(segment)]
    refusals = [segment for segment in segments if _REFUSAL.fullmatch(segment)]
    return bool(refusals) and all(segment in refusals or _EMPTY_PHRASE.fullmatch(segment) for segment in segments)


def is_false_premise_answer(answer: str) -> bool:
    """Whether the answer says that the question is invalid; a reason may follow ("he never won one")."""
    segments = _segments(answer)
    while segments and _EMPTY_PHRASE.fullmatch(segments[0]):
        segments = segments[1:]
    if not segments or not _PREMISE.fullmatch(segments[0]):
        return False
    reasoned = False
    for segment in segments[1:]:
        reasoned = reasoned or _REASON.fullmatch(segment) is not None
        if not (reasoned or _PREMISE.fullmatch(segment) or _DENIAL.fullmatch(segment)):
            return False
    return True


def _segments(answer: str) -> list[str]:
    """Words between punctuation, in one spelling, without accents and apostrophes; none for too long a text."""
    answer = answer.strip()
    if len(answer) > MAX_CHARS:
        return []
    folded = re.sub(r"\bn\s?/\s?a\b|^n\.\s?a\b\.?$", "notavailable", one_spelling(re.sub(r"\n\s*\n", " . ", answer)))
    letters = unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", folded)))
    letters = re.sub('(?<=don)"(?=t)', "", letters)
    spaced = letters.replace("'", "").translate(str.maketrans("_*-", "   "))
    text = "".join(char if char == " " or _in_word(char) else "\n" for char in spaced)
    return [segment for part in text.split("\n") if (segment := " ".join(part.split()))]


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "%" or unicodedata.category(char).startswith("M")
