// Entry point of the viewer component: lifetime of a view and the flow scene → assets → panels → frame.
//
// A view lives as long as its element; camera, slider positions and dismissed read-outs live in a map by view id, so
// they come back after a page change.  Calls may overlap and their clean-up may run early (see destroy).

import { View } from './view.js';

/** Called by Streamlit at mount and whenever scene or theme changed. */
export function mount(component, vtkUrl) {
  const host = component.parentElement.querySelector('.hsd-viewer');
  const view = (host.__view ??= new View(host, vtkUrl, component.data.view));
  view.component = component;
  view.receive(component.data);
  return () => setTimeout(() => {
    if (!host.isConnected) view.destroy();
  });
}
