// Methods of View that send events to the server: picks, and points placed, moved or deleted.  Each event carries the
// surface's hash, the scene's rev, a sequence number and the values of all controls.

export const events = {
  event(name, more) {
    const seq = ++this.memory.seq;
    this.component.setTriggerValue(name, { view: this.id, rev: this.scene.rev, seq, controls: { ...this.memory.controls }, ...more });
    return seq;
  },

  where(hit) {
    return { panel: hit.index, mesh: this.scene.panels[hit.index].mesh, face: hit.face, bary: hit.bary };
  },

  click(hit) {
    const { tool } = this.scene;
    this.select(null);
    if (!hit) {
      this.overlay.dismiss();
      return;
    }
    if (tool.mode === 'place') {
      this.event('place', { op: 'add', id: null, kind: tool.kind, pos: hit.point, ...this.where(hit) });
    } else if (tool.mode === 'pick') {
      const seq = this.event('pick', { pos: hit.point, ...this.where(hit) });
      this.overlay.pick({ ...this.where(hit), pos: hit.point, seq, controls: { ...this.memory.controls } });
    }
  },

  select(id) {
    for (const p of this.panels) p.selected = p.spec.markers.some((m) => m.id === id) ? id : null;
    for (const p of this.panels) p.showMarkers();
    this.schedule({ moving: this.moving });
    if (id !== null) this.hint('Drag to move, Delete to remove');
  },

  dragMarker({ marker }, point) {
    for (const p of this.panels) p.dragged = p.spec.markers.some((m) => m.id === marker.id) ? { id: marker.id, pos: point } : null;
    for (const p of this.panels) p.showMarkers();
    this.schedule({ moving: true });
  },

  dropMarker({ marker, index }, hit) {
    if (hit) this.event('place', { op: 'move', id: marker.id, kind: marker.kind, pos: hit.point, ...this.where(hit) });
    // the drag is kept on screen until the next scene places the marker
    const pos = hit?.point;
    for (const p of this.panels) {
      for (const m of p.spec.markers) if (pos && m.id === marker.id) m.pos = pos;
      if (pos) p.selected = p.spec.markers.some((m) => m.id === marker.id) ? marker.id : null; // Delete is for it
      p.dragged = null;
      p.showMarkers();
    }
    this.rest();
  },

  removeMarker(id) {
    const index = this.panels.findIndex((p) => p.spec.markers.some((m) => m.id === id));
    if (index < 0) return;
    this.select(null);
    const kind = this.panels[index].spec.markers.find((m) => m.id === id).kind;
    this.event('place', { op: 'delete', id, kind, panel: index, mesh: this.scene.panels[index].mesh });
  },
};
