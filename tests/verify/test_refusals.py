# ruff: noqa: RUF001 (look-alike characters are what is tested)
from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.records import FALSE_PREMISE, REFUSAL
from tasks.verify.refusals import is_false_premise_answer, is_refusal

REFUSALS = [
    REFUSAL,
    "I don't know.",
    "i dont know",
    "I DON'T KNOW!",
    "I don\u2019t know",
    "I don\u2018t know",
    "I don\u02bct know",
    "I don`t know",
    "I don\u00b4t know",
    "I don\uff07t know",
    "I don\ufffdt know",
    "I donâ€™t know",
    "I don&#39;t know",
    "I don t know",
    "I do n't know",
    "I do not know",
    "I  do\u00a0not\nknow",
    "Ｉ ｄｏ ｎｏｔ ｋｎｏｗ。",
    "I don\u200b't know",
    "«I don't know»",
    "“I don't know.”",
    "**I don't know**",
    "_I don't know_",
    "(I don't know)",
    "I don't know…",
    "I don't know 🤷",
    "¡I don't know!",
    "Don't know",
    "I really don't know",
    "I honestly do not know the answer",
    "I don't know the answer to this question.",
    "I don't know who wrote it",
    "I do not know how many people live there.",
    "I'm sorry, but I don't know.",
    "Sorry, I do not know",
    "Unfortunately I don't know",
    "The answer is: I don't know",
    "Answer: I don't know",
    "We do not know",
    "I don't remember",
    "I do not recall the name of the band",
    "I'm not sure",
    "I\u2019m not sure.",
    "I am not sure",
    "Not sure",
    "I am not entirely sure about the date",
    "I'm not 100% sure",
    "I'm unsure.",
    "I am uncertain",
    "I am not certain",
    "No idea",
    "I have no idea",
    "I have no idea who that is.",
    "I don't have a clue",
    "IDK",
    "dunno",
    "Unknown",
    "unknown to me",
    "The answer is unknown.",
    "It is not known",
    "N/A",
    "n/a.",
    "N.A.",
    "Not available",
    "No answer",
    "cannot determine",
    "I cannot determine the answer.",
    "It cannot be determined from the references.",
    "Can't say",
    "I can\u2019t answer that",
    "I cannot answer this question",
    "Unable to determine",
    "I am unable to answer the question.",
    "I couldn't find the answer",
    "Not enough information",
    "There is not enough information to answer the question.",
    "Insufficient information",
    "I don't have enough information",
    "I do not have sufficient information to determine the winner.",
    "No information available",
    "The references do not mention it.",
    "I don't know. The references do not mention the director.",
    "I don't know because the documents do not say",
    "I'd rather not guess",
    "I must abstain",
    "That is beyond my knowledge.",
    "There's no way to know",
    "I don't have that information",
    "Not mentioned in the references",
    "Information not available.",
    'I don"t know',
    "Je ne sais pas la réponse",
    "je ne sais pas",
    "Je ne sais pas.",
    "Désolé, je ne sais pas",
    "ich weiß es nicht",
    "Ich weiss nicht!",
    "Keine Ahnung",
    "no lo sé",
    "¡No lo sé!",
    "No sé",
    "non lo so",
    "não sei",
    "Ik weet het niet",
    "Не знаю",
    "я не знаю.",
    "nie wiem",
    "tôi không biết",
    "我不知道",
    "我不知道。",
    "不确定",
    "无法确定",
    "わかりません",
    "分かりません。",
    "すみません、わかりません",
    "모르겠습니다",
    "لا أعرف",
    "मुझे नहीं पता",
]
ANSWERS = [
    "",
    "   ",
    "?",
    "Paris",
    "I don't know why people doubt it, but it is Paris",
    "I don't know why people doubt it: Paris",
    "I don't know, but it is Paris",
    "I don't know. Paris.",
    "I don't know\n\nParis",
    "I don't know\nParis",
    "I don't know because it is Paris",
    "Since I know it, Paris",
    "I don't know, maybe Paris",
    "I don't know — Paris?",
    "I don't know if it is Paris",
    "I'm not sure, Paris?",
    "I'm not sure it is Paris",
    "I'm not sure but Paris",
    "Paris, but I'm not sure",
    "Paris (not sure)",
    "Not mentioned in the references, but Paris",
    "I don't know who else but Paris",
    "I don't know what it could be except Paris",
    "I don't know anything other than Paris",
    "Don't Know Much About History",
    "Don't Know Why",
    "I Don't Know How to Love Him",
    "I Don't Know What to Say",
    "I Don't Know Jack",
    "The Unknown",
    "Unknown Pleasures",
    "The Unknown Soldier",
    "Tomb of the Unknown Soldier",
    "Unknown Mortal Orchestra",
    "The Known and the Unknown",
    "Known",
    "I know",
    "I do know: Paris",
    "Sure",
    "Certain",
    "Sorry",
    "Sorry, Paris",
    "Unfortunately, 5",
    "None",
    "Nobody",
    "Nothing",
    "no",
    "0",
    "Na",
    "NA",
    "Can't Stop",
    "Can't Say No",
    "I Can't Tell You Why",
    "I cannot tell a lie",
    "There is no evidence that he did it",
    "No Information About the Moon except that it orbits",
    "Answer",
    "The answer is",
    "Abstract",
    "Idaho",
    "He did not know the answer",
    "The references do not mention it, but it is Paris",
    "It cannot be determined, so I say Paris",
    "invalid question",
    "知道",
    "東京、わかりません",
    "Je sais: Paris",
    "No Sé Nada de Ti",
    "Weiß",
]


@pytest.mark.parametrize("answer", REFUSALS)
def test_refusal(answer: str) -> None:
    assert is_refusal(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_not_a_refusal(answer: str) -> None:
    assert not is_refusal(answer)


def test_papers_code_typographic_apostrophe_and_do_not_know_are_refusals() -> None:
    assert is_refusal("I don\u2019t know")
    assert is_refusal("I do not know")


def test_a_long_text_is_no_refusal_and_cheap() -> None:
    assert not is_refusal("I don't know. " * 100)


@pytest.mark.parametrize(
    "answer",
    [
        FALSE_PREMISE,
        "Invalid question.",
        "INVALID QUESTION!",
        "an invalid question",
        "This is an invalid question",
        "The question is invalid.",
        "the question is not valid",
        "Question is invalid",
        "False premise",
        "The question has a false premise",
        "The question is based on a false assumption.",
        "The premise is false",
        "the premise of the question is incorrect",
        "Its premise is wrong.",
        "The question's premise is false",
        "The question\u2019s premise isn\u2019t true".replace("isn\u2019t", "is not"),
        "Sorry, invalid question",
        "The answer is: invalid question",
        "invalid question, because he never won one",
        "Invalid question because the premise is false",
        "**invalid question**",
        "invalid question (he never won)",
        "The question contains a false premise: Paris is not in Italy",
        "Invalid question: there is no such film",
        "There is a false premise",
        "The question assumes something false",
        "«invalid question»",
        "ｉｎｖａｌｉｄ　ｑｕｅｓｔｉｏｎ",
        "无效问题",
        "Question invalide",
    ],
)
def test_false_premise_answer(answer: str) -> None:
    assert is_false_premise_answer(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Paris",
        "question",
        "invalid",
        "The premise is true",
        "The premise is not false",
        "not an invalid question",
        "This is not an invalid question",
        "invalid question? No, it is Paris",
        "invalid question, but I would say Paris",
        "invalid question: it is not Rome but Paris",
        "invalid question, if not Paris",
        "invalid question. It isn't Rome. Paris.",
        "Invalid question: Paris",
        "Paris because it is an invalid question",
        "The Invalid Question of Dr. Ames",
        "I don't know",
        "Sorry",
        "The War of False Premises",
        "valid question",
    ],
)
def test_not_a_false_premise_answer(answer: str) -> None:
    assert not is_false_premise_answer(answer)


@pytest.mark.parametrize(
    "piece",
    [
        "i ",
        "I don't know ",
        "really ",
        "'",
        ".",
        " ",
        "\u0301\u0316",
        "sorry ",
        "the references ",
        "not ",
        "&",
        "ﷺ",
        "n/a ",
    ],
)
@pytest.mark.parametrize("check", [is_refusal, is_false_premise_answer])
def test_hostile_text_takes_less_than_a_second(check: Callable[[str], bool], piece: str) -> None:
    start = time.process_time()  # not wall time: the machine may be busy
    for length in (300, 1_000_000):
        check(piece * (length // len(piece)))
    assert time.process_time() - start < 1


@given(
    st.lists(
        st.sampled_from("i don't know the answer not sure but because of , . ' really who is it".split()), max_size=40
    )
)
@settings(max_examples=150, deadline=None)
def test_any_words_are_decided_quickly(words: list[str]) -> None:
    assert is_refusal(" ".join(words)) in (True, False)


@given(st.text(max_size=120))
@settings(max_examples=150, deadline=None)
def test_arbitrary_text_never_crashes(text: str) -> None:
    assert not (is_refusal(text) and is_false_premise_answer(text))
