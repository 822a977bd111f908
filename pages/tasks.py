"""Tasks: samples of the six physical tasks and of dataset files, their parts, trajectories and cards."""

from functools import partial

import streamlit as st

from hsd.data.schema import VECTORS
from hsd.ui import task_card, task_export, task_files
from hsd.ui import task_view as view
from hsd.ui.bound import bound_number, bound_segments, bound_selectbox, bound_toggle
from hsd.ui.browser import previous_and_next
from hsd.ui.export import download_row, figure_html, table_csv
from hsd.ui.page import page
from hsd.ui.space import figure_ink
from hsd.ui.state import get_state, update
from hsd.ui.viewer import show
from hsd.viz import task_words as words
from hsd.viz.task_figures import change_words, history_figure
from hsd.viz.task_sample import field_rows
from hsd.viz.task_scene import scene_of

memory = {}
GO = "tasks:go"


def domain(state):
    """The sample in force is made before the header, which speaks of its mesh."""
    memory["ready"], memory["error"] = view.kept_open(state)
    return view.domain_of(state, memory["ready"])


def controls(ready) -> None:
    """Which sample, and how it is drawn."""
    with st.sidebar:
        name = bound_selectbox("Task", "tasks.name", view.titles(), view.titles().get)
        if name == view.OWN:
            task_files.file_box()
        last = ready.n_samples - 1 if ready else 0
        left, right = st.columns(2)
        bound_number("Sample", "tasks.sample", 0, last, 1, where=left)
        if name != view.OWN:
            bound_number("Seed", "seed", 0, 2**31 - 1, 1, where=right)
        previous_and_next("tasks", partial(stepped, last=last))
        if name != view.OWN:
            bound_segments("Nodes", "tasks.nodes", view.nodes_of(get_state()), lambda n: str(n) if n else "default")
        if ready and ready.sample.target.reading != VECTORS:
            st.button(
                "Compare models on it", key="tasks:compare", icon=":material/compare:", width="stretch",
                on_click=hand_over, help="Opens Model Comparison with this sample.",
            )  # fmt: skip
        if ready:
            bound_segments("Split", "tasks.split", ready.splits, view.SPLITS.get)
            if ready.mesh.dim == 3:
                bound_segments("Draw", "tasks.space", view.SPACES, view.SPACES.get)
            bound_toggle("Arrows", "tasks.arrows")


def hand_over() -> None:
    """Model Comparison opens with the sample in force, on the mesh chosen here."""
    chosen = get_state().tasks
    st.session_state[GO] = True
    update(
        **{
            "comparison.task": chosen.name,
            "comparison.sample": chosen.sample,
            "comparison.nodes": chosen.nodes,
            "comparison.composed": "",
            "comparison.show": "maps",
        }
    )


def stepped(by: int, last: int) -> None:
    update(**{"tasks.sample": min(max(get_state().tasks.sample + by, 0), last)})


def moved(values) -> None:
    """Sliders of the viewer were released."""
    if "step" in values:
        update(**{"tasks.step": round(values["step"])})
    if "clip" in values:
        update(**{"tasks.clip": float(values["clip"])})


def picture(state, ready) -> None:
    options = state.tasks
    scene = scene_of(
        view.picture_in(ready, options.split, options.space),
        step=options.step,
        arrows=options.arrows,
        clip=options.clip if ready.mesh.dim == 3 and options.space == "ball" else None,
        theme=state.theme,
        caption=view.caption(ready, options.split, options.space),
    )
    rows = -(-len(scene.panels) // (scene.columns_of_panels or 1))
    key = f"tasks/{options.name}/{options.space if ready.mesh.dim == 3 else 'surface'}"
    show(scene, key, height=280 if rows == 1 else 430, on_controls=moved)


def curves(state, ready):
    """The plot beside the player; returns it."""
    values = view.history_of(ready)
    step = view.step_of(state, ready)
    figure = history_figure(ready.sample.times, values, step, figure_ink(state), sizes=view.sizes_of(ready))
    st.plotly_chart(figure, theme=None, key="tasks/history", alt="Mass, energy and extremes against time")
    st.caption(f"Marks: t = {ready.sample.times[step]:.3g}. {change_words(values, view.sizes_of(ready))}")
    return figure


def side(state, ready) -> None:
    """Curves, card and record beside the picture; only the open tab is made."""
    makers = {"Card": lambda: card(state, ready), "Sample": lambda: record(ready)}
    if ready.sample.states is not None:
        makers = {"Curves": lambda: curves(state, ready)} | makers
    if ready.task is None:
        makers.pop("Card")
    for tab, make in zip(st.tabs(list(makers), key=f"tasks/side{len(makers)}", on_change="rerun"), makers.values()):
        if tab.open:
            with tab:
                make()


def card(state, ready) -> None:
    task_card.card_panel(state, ready.task.name, ready.task.config_dict, ready.task.config.n_nodes)


def record(ready) -> None:
    name = ready.task.name if ready.task else ""
    for sentence in words.record_words(name, ready.sample):
        st.markdown(f"- {sentence}")
    if ready.data is not None:
        schema = ready.data.schema
        made = f" of the task {schema.task}" if schema.task else ""
        n = len(ready.data.meshes)
        st.markdown(f"{ready.data.path.name}: {ready.data.n_samples} samples{made} on {n} mesh{'es' if n > 1 else ''}.")
        if ready.data.target_spec.reading == VECTORS:
            st.markdown("Models are trained on forms: make forms of these node vectors (hsd.flat, hsd.flat_flux).")


def data(state, ready) -> None:
    parts = view.parts_of(ready, state.tasks.split)
    rows = field_rows(ready.sample, (*ready.sample.inputs, ready.sample.target, *parts))
    config = {name: st.column_config.NumberColumn(format="%.5g") for name in ("least", "largest", "‖·‖² in ⋆")}
    config["of the target's"] = st.column_config.NumberColumn(format="percent")
    st.dataframe(rows, hide_index=True, column_config=config, key="tasks/data")
    last = "; at the last time" if ready.sample.states is not None else ""
    st.caption(f"Least and largest value (of vectors: length) at the nodes; ‖·‖² of the cochain{last}.")
    if ready.sample.states is not None:
        st.dataframe(
            {"t": ready.sample.times.tolist(), **{k: v.tolist() for k, v in view.history_of(ready).items()}},
            hide_index=True,
            height=220,
            key="tasks/times",
        )


def exports(state, ready) -> None:
    parts = view.parts_of(ready, state.tasks.split)
    st.markdown(
        "NPZ: cochains, node values, record, mesh; VTP, VTU: node values. Files carry task, seed, sample, hash and "
        "version. The picture: camera button of the view."
    )
    files, origin = task_export.files_of(state, ready, parts), view.provenance_record(state, ready)
    rows = field_rows(ready.sample, (*ready.sample.inputs, ready.sample.target, *parts))
    files["CSV"] = (".csv", lambda: table_csv(rows, origin), "text/csv")
    if ready.sample.states is not None:
        figure = history_figure(
            ready.sample.times,
            view.history_of(ready),
            view.step_of(state, ready),
            figure_ink(state),
            sizes=view.sizes_of(ready),
        )
        files["HTML: curves"] = ("_curves.html", lambda: figure_html(figure, origin), "text/html")
    download_row(files, task_export.file_stem(ready), "tasks")


def code(state, ready) -> None:
    st.code(task_export.code(state, ready, state.tasks.split), language="python")
    st.code(task_export.commands(state, ready), language="bash")


def details(state, ready) -> None:
    makers = {
        "Data": lambda: data(state, ready),
        "Export": lambda: exports(state, ready),
        "Code": lambda: code(state, ready),
    }
    if ready.task is not None:
        name, nodes = ready.task.name, ready.task.config.n_nodes
        makers["Whole card"] = lambda: task_card.card_tables(state, name, nodes)
    for tab, make in zip(st.tabs(list(makers), key=f"tasks/tabs{len(makers)}", on_change="rerun"), makers.values()):
        if tab.open:
            with tab:
                make()


def main() -> None:
    if st.session_state.pop(GO, False):
        st.switch_page("pages/model_comparison.py")
    ready = memory["ready"]
    controls(ready)
    state = get_state()
    if state.tasks.name == view.OWN:
        task_files.show_found(ready is not None)
    if memory["error"]:
        st.error(memory["error"])
    if ready is None:
        if state.tasks.name == view.OWN:
            st.info(
                "Give a dataset file (.npz) at the left: it is checked, and its samples are shown here. "
                "`python -m hsd data generate TASK --out FILE` writes one; `hsd.data.dataset` says what is in it."
            )
        return
    if ready.task is not None and not state.present:
        st.markdown(f"**{ready.task.title}** · {ready.task.equation}")
    left, right = st.columns([7, 3])
    with left:
        picture(state, ready)
    with right:
        side(state, ready)
    source = f" Source: {words.SOURCES[ready.task.name]}" if ready.task else ""
    st.caption(view.conditions(ready) + source)
    details(state, ready)


with page("Tasks", "Input and ground truth of six physical problems or of your own file, sample by sample.", domain):
    main()
