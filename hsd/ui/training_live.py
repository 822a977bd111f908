"""What moves while a run trains: its state and buttons, numbers, curves and the validation sample; one fragment."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import streamlit as st

from hsd.cli_progress import duration
from hsd.errors import HsdError
from hsd.ui import training_runs as runs
from hsd.ui.rerun import run_again
from hsd.ui.space import figure_ink
from hsd.ui.state import AppState, get_state
from hsd.ui.training_entries import HIGHS
from hsd.ui.training_form import take_over
from hsd.ui.training_look import Look, scene_of, watcher
from hsd.ui.training_runs import Run
from hsd.ui.viewer import show
from hsd.viz.style import Ink
from hsd.viz.training_figures import Curve, Entry, curve_figure, seconds_left, share_done, smoothed
from hsd.viz.training_scene import relative_error

POLL_SECONDS = 1.5
SLOW_SECONDS = 5.0
"""The same for a run that is at rest and not finished: another visitor may resume or delete it."""
BUNCH = 10
"""Entries between epochs that are drawn at a time; one comes every half second."""
IMPATIENT = 15.0
"""Seconds after which a run that was asked to end may be ended at once."""
BUTTONS = {
    "pause": ("Pause", ":material/pause:", "Saves the whole state after the step under way; Resume goes on."),
    "stop": ("Stop", ":material/stop:", "Ends the run after the step under way; its state is kept."),
    "end": ("End at once", ":material/cancel:", "Does not wait for the step; what came after the last save is lost."),
    "resume": ("Resume", ":material/play_arrow:", "Goes on exactly where it was."),
    "step": ("Step once", ":material/skip_next:", "One optimiser step, then paused again."),
    "finish": ("Use best weights", ":material/flag:", "Trains no more; the best weights so far become the checkpoint."),
}


def panel(run: Run) -> None:
    """The live part of the page; asks again soon while something goes on, of a finished run not at all.

    What it shows stays right until the next answer comes, so that it is not greyed meanwhile; what is left of another
    run is.
    """
    st.html(f"<style>.st-key-{name_of(run.id)} [data-stale=true] {{ opacity: 1 !important; }}</style>")
    alive = run.status.is_alive
    polling = alive or st.session_state.get("training:pending", False)
    at_rest = None if run.status.state == "done" else SLOW_SECONDS
    st.fragment(_live, run_every=POLL_SECONDS if polling else at_rest)(run.id, alive, polling)


def _live(run_id: str, alive: bool, polling: bool) -> None:
    if st.session_state.pop("training:again", False):
        run_again()
    state = get_state()
    try:
        run = runs.run_of(run_id)
    except HsdError as error:
        st.session_state.pop("training:pending", None)
        if run_id in dict(st.session_state.get(runs.SEEN, ())):
            run_again()  # it was there when the page was drawn
        st.error(error.message)
        return
    with st.container(key=name_of(run_id)):
        pending = draw(state, run)
    st.session_state["training:pending"] = pending
    moved = run.status.state != "done" and runs.states_of_all() != st.session_state.get(runs.SEEN)
    if run.status.is_alive != alive or (alive or pending) != polling or moved:
        run_again()


def name_of(run_id: str) -> str:
    """Key of what is shown of a run, as it is in the names of its style too."""
    return f"training-live-{re.sub(r'[^a-zA-Z0-9_-]', '-', run_id)}"


def draw(state: AppState, run: Run) -> bool:
    """All from one reading of the run: state and buttons at once, then numbers and curves together, then the picture.

    Returns whether a newer picture is being made.
    """
    head(run)
    figure = figure_of(state, run) if run.log or run.steps else None
    numbers(run)
    left, right = st.columns(2)
    with left:
        curves(state, run, figure)
    with right:
        return sample(state, run)


def actions_of(run: Run) -> tuple[str, ...]:
    """What may be asked of a run as it is now."""
    status = run.status
    if status.wish:
        return ("end",) if runs.training().asked_ago(run.folder) > IMPATIENT else ()
    if status.is_alive:
        return ("pause", "stop") if status.state == "running" else ("stop",)
    if status.state == "done":
        return ()
    return ("resume", "step", *(("finish",) if run.log else ()))


def head(run: Run) -> None:
    """State in words and as a bar, buttons, and the sentence of an error with a way on."""
    with st.container(horizontal=True, vertical_alignment="center", key="training-head"):
        share = share_done(run.log, run.steps)
        left = seconds_left(run.steps) if run.status.state == "running" and runs.makes_steps(run) else None
        words = runs.run_words(run)
        if left is not None:
            words += f" About {duration(left)} left."
        if run.status.state != "failed":
            st.progress(share, words, width="stretch")
        for action in actions_of(run):
            label, icon, said = BUTTONS[action]
            what = (runs.ask, action, run.id)
            st.button(label, key=f"training:{action}", icon=icon, help=said, on_click=then_again, args=what)
        if run.status.state == "done":
            send_button(run)
    runs.show_error()
    if run.status.state == "failed":
        failed(run)


def failed(run: Run) -> None:
    """The sentence of a run that failed, and what can be done."""
    st.error(run.status.text)
    if "diverged" in run.status.text:
        rate = min(runs.config_of(run.spec)["lr"] / 3, HIGHS["lr"] / 100)
        st.button(
            f"Put a run with a smaller learning rate ({rate:.2g}) into the form",
            key="training:slower", on_click=then_again, args=(take_over, run.spec), kwargs={"lr": float(f"{rate:.2g}")},
        )  # fmt: skip
    st.caption(f"All that the process said is in {run.folder.name}/log.txt in the server's folder of runs.")


def send_button(run: Run) -> None:
    """Hand the result to Model Comparison; once it is there, the way to it."""
    sent = run.id in get_state().own_runs
    if not sent:
        st.button(
            "Send to Model Comparison", key="training:send", icon=":material/compare:", type="primary",
            on_click=then_again, args=(runs.send, run),
        )  # fmt: skip
    elif Path(__file__).resolve().parents[2].joinpath("pages", "model_comparison.py").is_file():
        st.button(
            "Open Model Comparison",
            key="training:open",
            icon=":material/compare:",
            on_click=then_again,
            args=(wish_to_open,),
        )
    else:
        st.badge("sent to Model Comparison", color="green")


def wish_to_open() -> None:
    st.session_state["training:go"] = True


def then_again(action: Callable, *args, **changes) -> None:
    """Do something from a button of the fragment, and run the whole page: others than the fragment follow it."""
    action(*args, **changes)
    st.session_state["training:again"] = True


def numbers(run: Run) -> None:
    """Where the run is, in numbers."""
    last = run.log[-1] if run.log else None
    step = max((entries[-1] for entries in (run.log, run.steps) if entries), key=lambda e: e["step"], default=None)
    total = run.spec.training.epochs if not run.spec.training.minutes else None
    found = {
        "Epoch": f"{len(run.log)} / {total}" if total else str(len(run.log)),
        "Step": f"{step['step']} / {step['total_steps']}" if step and step["total_steps"] else "–",
        "Best validation error": f"{run.best:.4g}" if run.best is not None else "–",
        "Learning rate": f"{step['lr']:.2g}" if step else "–",
        "Samples/s": f"{last['samples_per_s']:.0f}" if last else "–",
    }
    if last and "gpu_memory_mb" in last:
        found["GPU memory"] = f"{last['gpu_memory_mb'] / 1024:.2g} GB"
    with st.container(key="training-numbers"):
        for column, (name, value) in zip(st.columns(len(found)), found.items()):
            column.metric(name, value)


def shown_curves(state: AppState, run: Run) -> list[Run]:
    """The run and those laid over it, those that are still there."""
    out = [run]
    for run_id in state.training.overlay:
        if run_id != run.id:
            try:
                out.append(runs.run_of(run_id))
            except HsdError:
                continue
    return out


def figure_of(state: AppState, run: Run):
    """The curves of the run and of those laid over it, made anew only where they differ."""
    choice = state.training
    every = [replace(r.curve, steps=drawn_steps(r)) for r in shown_curves(state, run)]
    key = tuple((c.name, len(c.log), str(c.log[-1:]), str(c.steps[:1]), str(c.steps[-1:])) for c in every)
    return _figure(key, choice.smooth, choice.log_x, choice.log_y, figure_ink(state), every)


@st.cache_resource(max_entries=16, show_spinner=False)
def _figure(key: tuple, smooth: float, log_x: bool, log_y: bool, ink: Ink, _every: list[Curve]):
    return curve_figure(_every, smooth, ink, log_x, log_y)


def drawn_steps(run: Run) -> tuple[Entry, ...]:
    """Entries between epochs as they are drawn; while a run trains those of the epoch under way come in bunches, so
    that the curve is not drawn anew with every one."""
    steps = run.steps
    if not run.status.is_alive:
        return steps
    ended = run.log[-1]["step"] if run.log else 0
    new = sum(s["step"] > ended for s in steps)
    return steps[: len(steps) - new % BUNCH] if new > BUNCH or run.log else steps


def curves(state: AppState, run: Run, figure) -> None:
    """Errors and learning rate against epochs."""
    if figure is None:
        st.info(
            "The curves begin with the first steps. "
            + (
                "Before them data and modes are made; a second run on them starts at once."
                if run.status.is_alive
                else ""
            )
        )
        return
    st.plotly_chart(
        figure, theme=None, key="training/curves",
        alt="Training loss, validation error and learning rate against epochs",
    )  # fmt: skip
    weight = state.training.smooth
    words = f"Faint: as logged. Bold: averaged, weight of the past {weight:.2f}. Star: best epoch."
    if run.log:
        last = run.log[-1]
        smooth = smoothed([e["validation"] for e in run.log], weight)[-1]
        words += (
            f" Epoch {last['epoch'] + 1}: training loss {last['train_loss']:.4g}, validation error "
            f"{last['validation']:.4g} (smoothed {smooth:.4g})."
        )
    st.caption(f"{words} Validation error: relative L2 of node values; training loss: {loss_words(run)}.")


def loss_words(run: Run) -> str:
    loss = run.spec.training.loss
    return " + ".join(f"{w:g} {n}" for n, w in loss.items()) if loss else "relative ⋆-norm of the form"


def sample(state: AppState, run: Run) -> bool:
    """The validation sample by the best weights saved so far; True while a newer picture is being made."""
    look, pending = watcher().look(run.folder, state.training.sample, run.status.is_alive)
    if look is None:
        st.info("Predicting the validation sample…" if pending else "The validation sample comes with the first epoch.")
    elif look.error:
        st.info(look.error)
    else:
        show(scene_of(run.folder, look, state.theme, look_words(look)), "training/sample", height=390)
    return pending


def look_words(look: Look) -> str:
    """Which weights and sample the picture shows."""
    snapshot = look.snapshot
    weights = f"the best weights, of epoch {snapshot.epoch + 1}" if snapshot.epoch >= 0 else "the first weights"
    error = relative_error(look.sample, snapshot.nodes)
    which = f"Validation sample {look.i} (sample {snapshot.number} of the data)"
    return f"{which}, {weights}: relative L2 error {error:.4f}."
