"""What TruthRL says about its methods, as comparisons that a run can check (sections 4.2 and 4.4, Table 1)."""

from __future__ import annotations

from tasks.evaluation.compare import Claim, Part

ABSTENTION_GONE = 0.05
"""Abstention that counts as lost: the paper says "almost zero" (section 4.3) and gives no figure."""

CLAIMS = (
    Claim(
        id="ternary-below-sft",
        says="The ternary reward hallucinates less than vanilla SFT.",
        source="TruthRL Table 1",
        parts=(Part(metric="hallucination", left="grpo_ternary", relation="below", right="sft"),),
    ),
    Claim(
        id="ternary-most-truthful",
        says="The ternary reward gives the highest truthfulness of all methods.",
        source="TruthRL Table 1",
        parts=tuple(
            Part(metric="truthfulness", left="grpo_ternary", relation="above", right=other)
            for other in ("prompting", "sft", "r_tuning", "grpo_binary")
        ),
    ),
    Claim(
        id="r-tuning-trade-off",
        says="R-Tuning pays for less hallucination with accuracy, against vanilla SFT.",
        source="TruthRL section 4.2",
        parts=(
            Part(metric="hallucination", left="r_tuning", relation="below", right="sft"),
            Part(metric="accuracy", left="r_tuning", relation="below", right="sft"),
        ),
    ),
    Claim(
        id="binary-stops-abstaining",
        says="The binary reward unlearns abstention and hallucinates more than the ternary reward.",
        source="TruthRL sections 4.2 and 4.4",
        parts=(
            Part(metric="abstention", left="grpo_binary", relation="at most", bound=ABSTENTION_GONE),
            Part(metric="hallucination", left="grpo_binary", relation="above", right="grpo_ternary"),
        ),
    ),
    Claim(
        id="binary-most-accurate",
        says="The binary reward gives the highest accuracy of all methods.",
        source="TruthRL section 4.2",
        parts=tuple(
            Part(metric="accuracy", left="grpo_binary", relation="above", right=other)
            for other in ("prompting", "sft", "r_tuning", "grpo_ternary")
        ),
    ),
    Claim(
        id="sft-raises-hallucination",
        says="Vanilla SFT hallucinates more than the prompted base model.",
        source="TruthRL section 4.2",
        parts=(Part(metric="hallucination", left="sft", relation="above", right="prompting"),),
    ),
)
