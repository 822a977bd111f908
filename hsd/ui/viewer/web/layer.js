// vtk.js: a polydata with its mapper and actor.

/** Added to a renderer; `lit`: shaded by the light. */
export function layer(vtk, renderer, { lit = true } = {}) {
  const data = vtk.Common.DataModel.vtkPolyData.newInstance();
  const mapper = vtk.Rendering.Core.vtkMapper.newInstance();
  const actor = vtk.Rendering.Core.vtkActor.newInstance();
  mapper.setInputData(data);
  mapper.setScalarVisibility(false);
  actor.setMapper(mapper);
  const property = actor.getProperty();
  property.setLighting(lit);
  property.setInterpolationToPhong();
  property.setAmbient(0.3);
  property.setDiffuse(0.76);
  property.setSpecular(0.06);
  property.setSpecularPower(24);
  renderer.addActor(actor);
  return { data, mapper, actor, property, delete: () => renderer.removeActor(actor) };
}
