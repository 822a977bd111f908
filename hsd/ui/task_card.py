"""The task card beside a sample: the shipped one, or one that is computed here by a job."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from hsd import __version__
from hsd.errors import InputError
from hsd.ui import jobs
from hsd.ui.bound import bound_selectbox
from hsd.ui.eigenwork import ask
from hsd.ui.estimate import Estimate
from hsd.ui.export import download_row
from hsd.ui.space import figure_ink
from hsd.ui.state import AppState, get_state
from hsd.viz import task_words as words
from hsd.viz.task_figures import predictor_figure, shares_figure

CARDS = Path(__file__).resolve().parents[2] / "assets" / "cards"
SAMPLES = (0, 100, 300, 1000)
SECONDS = {"toroidal_transport": 0.1, "vorticity_dynamics": 0.12, "magnetostatics": 0.05}
"""Of one sample at the default number of nodes, on one core; the others take 0.01."""
RESULT = "card.json"


@lru_cache(maxsize=16)
def shipped(name: str) -> dict[str, Any] | None:
    """The card that came with the program, None where there is none."""
    path = CARDS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def job_of(name: str, n_samples: int, nodes: int, seed: int) -> str:
    """Name of the job that computes a card; another version computes another card."""
    return hashlib.sha256(repr(("card", name, n_samples, nodes, seed, __version__)).encode()).hexdigest()[:16]


def computed(job: jobs.Job) -> dict[str, Any] | None:
    """The card of a job that is done, else None."""
    if job.state != "done":
        return None
    try:
        return json.loads((jobs.job_folder(job.name) / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError("The computed card cannot be read; compute it again.", "no_card") from error


def estimate(name: str, n_samples: int, nodes: int, default_nodes: int) -> Estimate:
    """Rough time and memory of a card."""
    ratio = nodes / default_nodes
    more = 12.0 if name == "magnetostatics" else 3.0
    seconds = (SECONDS.get(name, 0.01) * n_samples + more) * ratio**1.3
    return Estimate(seconds, 3e8 + n_samples * nodes * (40 if name == "magnetostatics" else 24) * 4.0)


def card_in_force(state: AppState, name: str, default_nodes: int) -> dict[str, Any] | None:
    """The card to show, with the choice of it; None while it is not there (a panel says why)."""
    seed, nodes = state.seed, state.tasks.nodes or default_nodes
    here = f"here: seed {seed}, {nodes} nodes"

    def label(n: int) -> str:
        return "shipped with the program" if n == 0 else f"{here}, {n} samples"

    n = bound_selectbox("Numbers of the card", "tasks.card", SAMPLES, label)
    if n == 0:
        card = shipped(name)
        if card is None:
            st.info("No card came with this task; choose to compute one.")
        return card
    job = jobs.status(job_of(name, n, nodes, seed))
    card = computed(job)
    if card is None:
        options = ["--samples", str(n), "--nodes", str(nodes), "--seed", str(seed)]
        ask(
            job,
            estimate(name, n, nodes, default_nodes),
            f"The card of {n} samples takes",
            lambda _: jobs.start_command(job.name, "data", [name, *options], None, "card", result=RESULT),
            "The card is computed and kept.",
        )
    return card


def card_panel(state: AppState, name: str, config: dict[str, Any], default_nodes: int) -> None:
    """The short card: origin, energies, dimensions, trivial predictors."""
    card = card_in_force(state, name, default_nodes)
    if card is None:
        return
    state, ink = get_state(), figure_ink(get_state())
    kind = "Shipped card" if state.tasks.card == 0 else "Card computed here"
    st.caption(f"**{kind}**: {words.card_origin(card)}.")
    if differs(card, config):
        st.warning("This card was made with another config of the task than the one in this program; compute it anew.")
    st.plotly_chart(
        shares_figure(card, ink), theme=None, key="tasks/shares", alt="Energy of the target by Hodge part and by making"
    )
    rows = words.dimension_rows(card)
    narrow = {name: st.column_config.NumberColumn(width="small") for name in list(rows)[1:]}
    st.dataframe(rows, hide_index=True, column_config=narrow, key="tasks/dimensions")
    st.plotly_chart(
        predictor_figure(card, words.PREDICTORS, ink),
        theme=None,
        key="tasks/predictors",
        alt="Relative L2 error of trivial predictors",
    )
    st.caption(
        "Energy of the target; ⋆-principal components with 99 % of the variance, (Σλ)²/Σλ²; relative L2 of predictors "
        f"that understand nothing (ridge: linear on {card['ridge']['modes']} spectral coefficients a field)."
    )


def differs(card: dict[str, Any], config: dict[str, Any]) -> bool:
    """Whether a card belongs to another config than this one (sizes apart)."""
    plain = json.loads(json.dumps(config))
    sizes = ("n_nodes", "n_samples", "loss_weights")
    return any(card["config"].get(key) != value for key, value in plain.items() if key not in sizes)


def card_tables(state: AppState, name: str, default_nodes: int) -> None:
    """The whole card as tables, and as a file."""
    n, nodes = state.tasks.card, state.tasks.nodes or default_nodes
    card = shipped(name) if n == 0 else computed(jobs.status(job_of(name, n, nodes, state.seed)))
    if card is None:
        st.info("There is no card yet; compute it beside the picture.")
        return
    split = ", ".join(f"{n} {part}" for part, n in card["split"].items())
    st.caption(f"{words.card_origin(card)}. Betti numbers {tuple(card['mesh']['betti'])}; split: {split}.")
    left, right = st.columns(2)
    percent = {"share": st.column_config.NumberColumn(format="percent")}
    left.dataframe(words.share_rows(card), hide_index=True, column_config=percent, key="tasks/card/shares")
    left.dataframe(words.predictor_rows(card), hide_index=True, key="tasks/card/predictors")
    right.dataframe(words.dimension_rows(card), hide_index=True, key="tasks/card/dimensions")
    right.markdown("Floor of the projection on Hodge modes, relative L2")
    right.dataframe(words.floor_rows(card), hide_index=True, key="tasks/card/floor")
    text = json.dumps(card, ensure_ascii=False, indent=1).encode()
    download_row({"JSON": (".json", lambda: text, "application/json")}, f"card_{name}", "tasks/card")
