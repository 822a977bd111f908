"""The 3-D viewer: linked views of surfaces on one canvas, drawn in the page by vtk.js.

    from hsd.viz.build import surface_of, mode_columns
    from hsd.viz.scene import Colour, Control, Mix, Panel, Scene
    from hsd.ui.viewer import show

    surface = surface_of(mesh)                          # cache this: st.cache_resource
    columns = mode_columns(basis)                       # all modes, sent to the page once
    slider = Control("mode", "Mode", 0, basis.n_modes - 1, value=3, labels=columns.labels, play=True, keys=True)
    colour = Colour(Mix(columns, mode="mode"), kind="signed", name="mode", unit="1")
    events = show(Scene((Panel(surface, colour, title="Δ₀"),), controls=(slider,)), key="modes/main")
    if events.pick is not None:
        st.write(events.pick.face, events.pick.bary)    # triangle of mesh.complex.simplices(2), float64 weights

Moving the slider sends nothing to the server; values that a page wants to know set ``report=True`` on their control and
come back in ``events.controls`` when the slider is released.  A click reads the value at a point: the page shows "≈"
from its own 16-bit data, and the float64 value follows with the next run, without any work of the calling page.  With
``Tool("place", kind="vortex")`` a click calls ``on_place`` instead (also for points that were dragged or deleted):

    def placed(event):                                  # runs before the script, like any Streamlit callback
        sources = st.session_state.sources
        if event.op == "add":
            sources[event.new_id] = (event.kind, event.face, event.bary)
        elif event.op == "move":
            sources[event.id] = (sources[event.id][0], event.face, event.bary)
        else:
            del sources[event.id]

    show(scene, key="compose", on_place=placed)

The camera stays over every change of the scene and over page changes, for as long as ``key`` is the same.
"""

from hsd.ui.viewer.component import show
from hsd.ui.viewer.events import Pick, Place, ViewerEvents

__all__ = ["Pick", "Place", "ViewerEvents", "show"]
