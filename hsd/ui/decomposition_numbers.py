"""The numbers beside the picture of a Hodge decomposition: energies, checks, heat, zeros and circulations."""

from __future__ import annotations

import streamlit as st

from hsd.errors import TopologyError
from hsd.hodge.checks import WHY, ZERO
from hsd.hodge.compose import length_of
from hsd.hodge.decomposition import PARTS
from hsd.ui import decomposition_tables as tables
from hsd.ui import decomposition_view as view
from hsd.ui import decomposition_work as work
from hsd.ui.export import figure_html
from hsd.ui.page import provenance_record
from hsd.ui.space import figure_ink
from hsd.ui.state import update
from hsd.viz.decomposition_figures import energy_bar, heat_figure


def row_chosen() -> None:
    """A row of the circulation table was clicked: its loop is drawn."""
    rows = (st.session_state.get("decomposition/periods") or {}).get("selection", {}).get("rows", [])
    update(**{"decomposition.loop": int(rows[0]) if rows else -1})


def energies(state, parts, checks) -> None:
    """The energy bar and Pythagoras."""
    figure = energy_bar(parts.energies, figure_ink(state))
    total = parts.energies["total"] or 1.0
    shares = ", ".join(f"{p}\u00a0{100 * parts.energies[p] / total:.4g}\u00a0%" for p in PARTS)
    st.plotly_chart(figure, theme=None, key="decomposition/energy", alt=f"Shares of the energy: {shares}",
                    config={"displayModeBar": False})  # fmt: skip
    st.caption(
        f"‖ω‖² = {parts.energies['total']:.6g}: {shares}. Pythagoras: |‖ω‖² − Σ‖part‖²| / ‖ω‖² = "
        f"{checks.pythagoras:.1e}; ‖ω − dα − δβ − γ‖ / ‖ω‖ = {parts.residual:.1e}, "
        "each part from its own solve."
    )


def check_marks(checks) -> None:
    """The four identities, orthogonality and Pythagoras: green where they hold."""
    with st.container(horizontal=True, key="decomposition-checks"):
        for check in checks.checks:
            mark(f"{check.name} = 0: {check.value:.1e}", check.holds)
        mark(f"⟨·,·⟩ = 0: {checks.orthogonality:.1e}", checks.orthogonality <= ZERO)
        mark(f"Pythagoras: {checks.pythagoras:.1e}", checks.pythagoras <= ZERO)


def mark(text: str, good: bool) -> None:
    st.badge(text, color="green" if good else "red", icon=":material/check:" if good else ":material/close:")


def broken_words(state, checks) -> None:
    """What the break did, and why."""
    if not state.decomposition.broken:
        st.caption("Backward errors: what is left over, divided by the sizes of what was summed; up to 1e-10 is zero.")
        return
    failed = [c for c in checks.checks if not c.holds]
    words = [c.name for c in failed]
    if checks.orthogonality > ZERO:
        words.append("orthogonality")
    if checks.pythagoras > ZERO:
        words.append("Pythagoras")
    if not words:
        st.info("Nothing fails here: this operator does not enter for this degree and field.")
        return
    why = failed[0].why if failed else WHY[state.decomposition.broken]
    st.warning(f"Fails: {', '.join(words)}. {why.format(faces='cofaces')}")


def side(p, state, field, parts, solver) -> None:
    """Numbers beside the picture."""
    broken = state.decomposition.broken if state.decomposition.show == "checks" else ""
    checks = view.checks_of(solver, field, parts, broken)
    energies(state, parts, checks)
    check_marks(checks)
    if state.decomposition.show == "checks":
        broken_words(state, checks)
    st.markdown(view.betti_words(p.mesh, state.k, state.bc))
    if state.decomposition.show == "heat":
        heat_numbers(p, state, field, parts, solver)
    elif state.decomposition.show == "zeros":
        zero_numbers(p, state, field, parts)
    else:
        circulation_tables(state, solver, parts)


def heat_numbers(p, state, field, parts, solver) -> None:
    if not work.heat_is_open(p.mesh, state.k):  # the picture's place asks
        return
    flow, times = view.heat_of(solver, field, parts)
    rates = view.lowest_eigenvalues(state, p.mesh)
    now = times[view.heat_step(times, length_of(solver) ** 2, state.decomposition.time)]
    figure = heat_figure(times[1:], flow.energies(times[1:]), now, rates, figure_ink(state), length_of(solver) ** 2)
    st.plotly_chart(figure, theme=None, key="decomposition/heat", alt="Energies of the three parts against time")
    words = ", ".join(f"{part} λ = {value:.6g}" for part, value in rates.items())
    st.caption(
        f"‖part(t)‖² on log axes; thin: e^(−2λt) of the lowest eigenvalues ({words}). "
        f"L² = {length_of(solver) ** 2:.4g}, the squared length scale measure^(2/n)/4π."
    )
    with st.expander("Data"):
        rows = tables.heat_rows(flow, times)
        config = {name: st.column_config.NumberColumn(format="%.3e") for name in rows}
        st.dataframe(rows, hide_index=True, column_config=config, key="decomposition/heatdata")
        html = figure_html(figure, provenance_record(p.mesh, state))
        st.download_button("HTML", html, "heat.html", on_click="ignore")


def zero_numbers(p, state, field, parts) -> None:
    try:
        found = view.zeros_of(p.mesh, field, parts) if state.k == 1 else {}
    except TopologyError:
        found = {}
    if not found:  # the picture's place says why
        return
    st.markdown("**Poincaré–Hopf**")
    mark("Σ index + boundary term = χ", all(z.holds for z in found.values()))
    widths = {"field": 100, "zeros": 52, "Σ index": 62, "boundary": 74, "sum": 48, "χ": 36}
    config = {name: st.column_config.Column(width=width) for name, width in widths.items()}
    st.dataframe(tables.zero_sums(found), hide_index=True, column_config=config, key="decomposition/zerosums")
    st.caption(
        "Index of a triangle: turns of the field around it, corrected by its curvature. Boundary term: turns of the "
        "field against the tangent along the boundary, taken off; 0 where there is no boundary."
    )
    with st.expander("All zeros"):
        st.dataframe(tables.zero_rows(found), hide_index=True, key="decomposition/zeros")


def circulation_tables(state, solver, parts) -> None:
    k = state.k
    if len(parts.periods) == 0:
        st.markdown(f"b{'₀₁₂₃'[k]} = 0: there are no generators of degree {k}, so γ = 0.")
        return
    st.markdown("**Circulation of γ**: the same for every loop of a class. Tick a row to see its loop.")
    config = {"∮ γ": st.column_config.NumberColumn(format="%.10g")}
    st.dataframe(
        tables.period_rows(parts), hide_index=True, key="decomposition/periods", on_select=row_chosen,
        selection_mode="single-row", column_config=config, height=min(38 + 36 * len(parts.periods), 220),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(tables.period_words(parts))
        if state.decomposition.loop >= 0:
            st.button("Hide the loop", on_click=update, kwargs={"decomposition.loop": -1}, key="decomposition/hide")
    st.markdown("**Depends on the loop**: what is not closed, around the loops drawn. ∮ dα = 0 always.")
    rows = tables.loop_rows(solver, parts)
    numbers = {name: st.column_config.NumberColumn(format="%.4g") for name in rows if name != "generator"}
    height = min(38 + 36 * len(parts.periods), 220)
    st.dataframe(rows, hide_index=True, key="decomposition/loops", column_config=numbers, height=height)
