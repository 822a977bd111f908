"""Training: configure a model, train it in the background, watch it learn, compare its runs."""

import json

import streamlit as st

from hsd import __version__
from hsd.data.tasks import task
from hsd.errors import HsdError
from hsd.ui import task_files, training_live
from hsd.ui import training_runs as runs
from hsd.ui.bound import bound_multiselect, bound_selectbox, bound_slider, bound_toggle, widget_key
from hsd.ui.export import download_row, figure_html, table_csv
from hsd.ui.markdown import literal
from hsd.ui.page import Domain, device_words, page
from hsd.ui.state import get_state, update
from hsd.ui.task_view import OWN, loaded, place_of
from hsd.ui.training_fields import complaints, number_at
from hsd.ui.training_form import form, quick, settings_of, spec_of, start_button, take_over, wrong_fields
from hsd.ui.viewer import show
from hsd.viz.task_scene import picture_of, scene_of
from hsd.viz.training_figures import differing


def domain(state) -> Domain:
    return Domain(None, ("", ""), f"Training · seed of the data {state.seed} · {device_words()} · hsd {__version__}")


def controls(notes) -> None:
    """The form of a new run at the left; settings that cannot be are a sentence with a way back, in view."""
    wrong = None
    with st.sidebar:
        try:
            form(lambda: runs.start(spec_of))
        except HsdError as error:
            wrong = error
    with notes:
        for sentence in wrong_fields():  # here, as the form may be scrolled past its button
            st.error(sentence)
        if wrong is not None:
            st.error(wrong.message)
            st.button("Use the first settings", key="training:reset", on_click=quick)
        if get_state().training.task == OWN:
            task_files.show_found(bool(get_state().tasks.file))


def chosen(found) -> str:
    """Id of the run in view, "" where there is none; a run that is gone is a sentence."""
    wanted, ids = get_state().training.run, [r.id for r in found]
    if wanted and wanted not in ids:
        st.warning(f"The run {wanted} is no longer on this server: its folder was deleted, or cannot be read.")
        update(**{"training.run": ""})
    return wanted if wanted in ids else runs.newest(found)


def invitation(state) -> None:
    """Nothing was trained yet: what would be learned, and the one click that starts."""
    choice = state.training
    if choice.task == OWN and not state.tasks.file:
        st.info("Give a dataset file at the left; then press **Start training**. Its samples are shown on Tasks.")
        return
    if choice.task == OWN:
        what = f"what {literal(task_files.path_of(state.tasks.file).name)} holds"
    else:
        what = f"{task(choice.task).title.lower()}: {task(choice.task).equation}"
    st.markdown(
        f"No run yet. **Start training** at the left teaches a model {what}. With the quick settings it takes about a "
        "minute on a CPU; the page may be closed meanwhile."
    )
    start_button("training:start2", lambda: runs.start(spec_of))
    ready = loaded(runs_state(state))
    place = place_of(ready.mesh, "slice")
    caption = "Sample 0: what the model reads, and what it is to predict."
    show(scene_of(picture_of(place, ready.sample), theme=state.theme, caption=caption), "training/first", height=330)


def runs_state(state):
    """The state of Tasks for the form's data."""
    from dataclasses import replace

    choice = replace(state.tasks, name=state.training.task, nodes=state.training.nodes, sample=0)
    return replace(state, tasks=choice)


def run_controls(found, run_id: str) -> None:
    """Which run, and which others lie over it."""
    names = runs.options_of(found)
    left, right = st.columns(2)
    if get_state().training.run != run_id:
        update(**{"training.run": run_id})
    bound_selectbox("Run", "training.run", list(names), names.get, where=left)
    others = [i for i in names if i != run_id]
    bound_multiselect("Lay over it", "training.overlay", others, names.get, where=right, placeholder="other runs")


def view_controls() -> None:
    """How curves and sample are drawn."""
    columns = st.columns([4, 5, 5, 4], vertical_alignment="bottom")
    bound_slider("Smoothing: weight of the past", "training.smooth", 0.0, 0.98, 0.02, where=columns[0])
    bound_toggle("Epochs logarithmic", "training.log_x", where=columns[1])
    bound_toggle("Errors logarithmic", "training.log_y", where=columns[2])
    number_at("Validation sample", "training.sample", 1.0, where=columns[3])
    for sentence in complaints(lambda key: key == widget_key("training.sample")):
        st.error(sentence)


def run_list(found, run) -> None:
    """All runs, and deleting the one in view."""
    number = st.column_config.NumberColumn
    config = {
        "best validation error": number(format="%.4g"),
        "training, s": number(format="%.1f"),
        "samples/s": number(format="%.0f"),
    }
    st.dataframe(runs.rows_of(found), hide_index=True, column_config=config, key="training/list", placeholder="–")
    if run.status.is_alive:
        st.caption("A run that trains or waits is stopped before it can be deleted.")
        return
    if st.session_state.get("training:delete") != run.id:
        st.button("Delete the run in view…", key="training:delete1", icon=":material/delete:", on_click=wish_to_delete,
                  args=(run.id,))  # fmt: skip
        return
    st.warning(f"{run.name}: delete its log, state and checkpoint for all visitors? This cannot be undone.")
    with st.container(horizontal=True):
        st.button("Delete it", key="training:delete2", type="primary", on_click=delete_now, args=(run.id,))
        st.button("Keep it", key="training:keep", on_click=wish_to_delete, args=("",))


def wish_to_delete(run_id: str) -> None:
    st.session_state["training:delete"] = run_id


def delete_now(run_id: str) -> None:
    wish_to_delete("")
    runs.delete(run_id)


def configuration(found, run) -> None:
    """The run's entries, or those in which it differs from the runs laid over it."""
    every = training_live.shown_curves(get_state(), run)
    st.button("Put this configuration into the form", key="training:take", on_click=take_over, args=(run.spec,))
    if len(every) == 1:
        own = runs.config_of(run.spec)
        table = {"entry": list(own), "value": [str(v) for v in own.values()]}
        st.dataframe(table, hide_index=True, key="training/config", height=320)
        st.caption("Lay other runs over this one to see only what differs.")
        return
    table = differing({f"{i + 1}: {r.name}": runs.config_of(r.spec) for i, r in enumerate(every)})
    if table["entry"]:
        st.dataframe(table, hide_index=True, key="training/differing")
    else:
        st.info("These runs have the same configuration.")


def origin(run) -> dict[str, str]:
    spec = run.spec
    data = {"data": spec.data.rpartition("/")[2]} if spec.data else {
        "task": spec.task, "samples": str(spec.n_samples), "nodes": str(spec.n_nodes), "data_seed": str(spec.data_seed)
    }  # fmt: skip
    return {"run": run.id, **data, "model": spec.training.model, "seed": str(spec.training.seed), "hsd": __version__}


def exports(run) -> None:
    """Log, curves, configuration, checkpoint."""
    state = get_state()
    columns = {key: [e.get(key) for e in run.log] for key in (run.log[-1] if run.log else {})}
    files = {
        "CSV: log": (".csv", lambda: table_csv(columns, origin(run)), "text/csv"),
        "HTML: curves": (".html", lambda: figure_html(training_live.figure_of(state, run), origin(run)), "text/html"),
        "JSON: configuration": (
            "_run.json", lambda: json.dumps(run.spec.as_dict(), indent=1).encode(), "application/json"
        ),
    }  # fmt: skip
    if run.status.state == "done":
        path = runs.training().checkpoint_of(run.id)
        files["Checkpoint: weights"] = (".safetensors", path.read_bytes, "application/octet-stream")
        files["Checkpoint: manifest"] = (".json", path.with_suffix(".json").read_bytes, "application/json")
        st.markdown("A checkpoint is two files: give both the same name.")
    else:
        st.markdown("The checkpoint can be had when the run has finished.")
    st.caption("The picture: camera button of the view.")
    download_row(files, run.id, "training")
    st.caption("The folder of this run on the server; `python -m hsd resume`, `transfer` and `cost` take it:")
    st.code(str(run.folder), language=None)


def code(run) -> None:
    """The same run by command."""
    spec = run.spec
    lines = [f"python -m hsd train {spec.task or spec.data} {spec.training.model} --out out/{run.id}"]
    if spec.task:
        lines.append(f"  --samples {spec.n_samples} --nodes {spec.n_nodes} --data-seed {spec.data_seed}")
    lines.append(f"  --device {spec.device}")
    lines += [f"  --set {text}" for text in settings_of(spec.training)]
    st.code(" \\\n".join(lines), language="bash")
    st.code(f"python -m hsd evaluate out/{run.id}/model.safetensors --part validation", language="bash")


def main() -> None:
    if st.session_state.pop("training:go", False):
        st.switch_page("pages/model_comparison.py")
    runs.training()
    notes = st.container()
    with notes:
        runs.show_error()
    st.session_state[runs.SEEN] = runs.states_of_all()
    found = runs.all_runs()
    run_id = chosen(found)
    if not run_id:
        controls(notes)
        invitation(get_state())
        return
    try:  # what is watched comes before the form, which is long
        run_controls(found, run_id)
        run = next(r for r in found if r.id == get_state().training.run)
        training_live.panel(run)
    except HsdError:
        controls(notes)
        raise
    controls(notes)
    view_controls()
    makers = {
        "Runs": lambda: run_list(found, run),
        "Configuration": lambda: configuration(found, run),
        "Export": lambda: exports(run),
        "Code": lambda: code(run),
    }
    for tab, make in zip(st.tabs(list(makers), key="training/tabs", on_change="rerun"), makers.values()):
        if tab.open:
            with tab:
                make()


with page("Training", "Teach a neural operator a task, and watch it learn.", domain):
    main()
