// Methods of View on the values of sliders, and on keys.

const REPORT = 250; // ms between two reports of one row of key steps

export const steering = {
  /** Values of the server move a slider only when they changed and are not the echo of what was sent. */
  takeControls(specs) {
    const { controls, given, sent } = this.memory;
    for (const { id, value, min, max } of specs) {
      const fresh = controls[id] === undefined;
      if (fresh || (value !== given[id] && value !== sent[id])) controls[id] = value;
      given[id] = value;
      controls[id] = Math.min(max, Math.max(min, controls[id]));
    }
  },

  setControl(name, value) {
    this.memory.controls[name] = value;
    this.controls.show(name, value);
    this.schedule({ values: true, moving: true });
  },

  release(name) {
    this.restSoon();
    const spec = this.scene.controls.find((c) => c.id === name), { controls, sent } = this.memory;
    if (!spec?.report || sent[name] === controls[name]) return;
    sent[name] = controls[name];
    const reported = this.scene.controls.filter((c) => c.report).map((c) => [c.id, controls[c.id]]);
    this.component.setStateValue('controls', Object.fromEntries(reported));
  },

  /** Release after key steps: the first at once, a row of them not more often than REPORT. */
  report(name) {
    clearTimeout(this.keyTimer);
    const wait = Math.max(0, (this.reported ?? -REPORT) + REPORT - performance.now());
    this.keyTimer = setTimeout(() => {
      this.reported = performance.now();
      this.release(name);
    }, wait);
  },

  /** A key pressed while the stage itself has the focus; true when it was used. */
  key(name) {
    const keyed = this.controls.keyed(), step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[name];
    if (step && keyed) {
      this.controls.stop();
      this.controls.step(keyed, step);
      this.report(keyed);
      return true;
    }
    const selected = this.panels.find((p) => p.selected !== null);
    if ((name === 'Delete' || name === 'Backspace') && selected) {
      this.removeMarker(selected.selected);
      return true;
    }
    if (name === 'Escape') {
      this.select(null);
      this.overlay.dismiss();
      return true;
    }
    if (name === 'Home') {
      this.fit();
      return true;
    }
    return false;
  },
};
