"""Transport on a torus and vorticity dynamics as tasks: records, laws of the samples, independence of the mesh."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.errors import InputError, TopologyError, UnknownNameError
from hsd.mesh.closest import locate
from hsd.mesh.primitives import gallery

CASES = (
    ("toroidal_transport", {}),
    ("toroidal_transport", {"velocity": "rotation"}),
    ("toroidal_transport", {"nu": 0.0}),
    ("vorticity_dynamics", {}),
    ("vorticity_dynamics", {"nu": 0.0, "duration": 4.0}),
)
N = 750


@cache
def ground_of(name: str, n: int) -> Ground:
    return Ground(task(name).mesh(n))


@cache
def made(case: int, n: int = N, count: int = 12):
    name, config = CASES[case]
    t = task(name, **config)
    return t, t.realise(t.samples(3, 0, count), ground_of(name, n))


def relative(x: np.ndarray, exact: np.ndarray, area: np.ndarray) -> np.ndarray:
    return np.sqrt((x - exact) ** 2 @ area / (exact**2 @ area))


@pytest.mark.parametrize("case", range(len(CASES)))
def test_samples_depend_on_seed_and_number_only(case):
    t, r = made(case)
    ground = ground_of(t.name, N)
    again = task(t.name, **CASES[case][1])
    alone = again.realise(again.samples(3, 5, 6), Ground(ground.mesh))
    assert np.array_equal(alone.trajectory[0], r.trajectory[5])
    pair = again.realise([again.sample(3, 9), again.sample(3, 2)], ground)
    assert np.array_equal(pair.target, r.target[[9, 2]])
    assert np.array_equal(pair.inputs["initial"], r.inputs["initial"][[9, 2]])
    other = again.realise([again.sample(4, 9)], ground)
    assert not np.allclose(other.target[0], r.target[9])


@pytest.mark.parametrize("case", range(len(CASES)))
def test_trajectory_runs_from_the_input_to_the_target(case):
    t, r = made(case)
    assert r.trajectory.shape == (12, t.config.n_snapshots + 1, ground_of(t.name, N).mesh.complex.n_vertices)
    assert len(t.times) == t.config.n_snapshots + 1 and t.times[-1] == t.config.duration
    assert np.array_equal(r.trajectory[:, 0], r.inputs["initial"])
    assert np.array_equal(r.trajectory[:, -1], r.target)
    steps = np.abs(np.diff(r.trajectory, axis=1)).max(axis=2)
    assert (steps > 0).all() and steps.max() < np.abs(r.trajectory).max()


@pytest.mark.parametrize("case", range(len(CASES)))
def test_integral_is_constant(case):
    t, r = made(case)
    area = ground_of(t.name, N).vertex_measure
    drift = np.abs((r.trajectory - r.trajectory[:, :1]) @ area) / (np.abs(r.trajectory[:, 0]) @ area)[:, None]
    assert drift.max() <= 1e-10


@pytest.mark.parametrize("case", [0, 1, 2])
def test_transport_makes_no_new_extremum(case):
    _, r = made(case)
    start = r.inputs["initial"]
    low, high = start.min(axis=1), start.max(axis=1)
    beyond = np.maximum(r.trajectory.max(axis=(1, 2)) - high, low - r.trajectory.min(axis=(1, 2))) / (high - low)
    assert beyond.max() <= 1e-8


@pytest.mark.parametrize("case", [3, 4])
def test_energy_and_enstrophy_of_samples_never_grow(case):
    t, r = made(case)
    flow = t.flow(ground_of(t.name, N))
    columns = r.trajectory.transpose(2, 1, 0).reshape(flow.area.size, -1)
    for values in (flow.energy(columns, flow.stream_function(columns)), flow.enstrophy(columns)):
        values = values.reshape(-1, 12)
        assert (np.diff(values, axis=0) <= 1e-12 * values[:1]).all()
        assert (values[-1] > 0.2 * values[0]).all()


@pytest.mark.parametrize("case", [0, 1, 3])
def test_one_record_gives_one_field_on_all_meshes(case):
    """Fields of two meshes approach each other: input at once, target as the truth converges."""
    t, coarse = made(case, 400, 4)
    _, middle = made(case, 800, 4)
    _, fine = made(case, 1600, 4)
    ground = ground_of(t.name, 1600)

    def distance(r, n):
        cells, bary, _ = locate(ground_of(t.name, n).mesh, ground.mesh.points)
        corners = ground_of(t.name, n).mesh.complex.simplices(2)[cells]
        out = []
        for mine, truth in ((r.inputs["initial"], fine.inputs["initial"]), (r.target, fine.target)):
            on_fine = np.einsum("bmk,mk->bm", mine[:, corners], bary)
            out.append(relative(on_fine, truth, ground.vertex_measure).mean())
        return out

    far, near = distance(coarse, 400), distance(middle, 800)
    assert near[0] < 0.6 * far[0] and near[0] < 0.1
    assert near[1] < 0.8 * far[1] and near[1] < 0.4, (far, near)


def test_velocities_mean_the_same_on_all_meshes():
    """Circulations of h₁ and h₂ through the two generators of every mesh are those of θ and φ; rotation is counter-
    clockwise seen from above."""
    for n in (750, 1500):
        ground = ground_of("toroidal_transport", n)
        h = task("toroidal_transport").named_fields(ground)["velocity"]
        assert h.degree == 1 and h.reading == "circulation" and h.values.shape[1] == 2
        vectors = ground.node_values(1, "circulation", h.values.T)  # (2, n, 3)
        x, y, z = ground.mesh.points.T
        rho = np.hypot(x, y)
        assert np.abs((vectors[0] * np.stack([-y, x, 0 * z], axis=1)).sum(axis=1) - 1).max() < 0.05  # ∇θ·∂_θ = 1
        along = np.stack([-z * x / rho, -z * y / rho, rho - 1], axis=1)  # ∂_φ
        assert np.abs((vectors[1] * along).sum(axis=1) - np.sqrt(1 - 0.16) / rho).max() < 0.05
        turn = task("toroidal_transport", velocity="rotation").named_fields(ground)["velocity"].values
        vectors = ground.node_values(1, "circulation", turn.T)[0]
        assert np.abs(vectors - np.stack([-y, x, 0 * z], axis=1)).max() < 0.08


def test_mean_displacement_of_records_has_the_stated_length_and_any_direction():
    t = task("toroidal_transport")
    a = np.array([r["velocity"] for r in t.samples(0, 0, 400)])
    moved = a * t.mean_angular_speeds * t.config.duration
    length = np.linalg.norm(moved, axis=1)
    assert length.min() >= 0.5 and length.max() <= 1.0 and np.ptp(length) > 0.45
    assert np.abs(np.exp(1j * np.arctan2(moved[:, 1], moved[:, 0])).mean()) < 0.15
    assert np.linalg.norm(a / t.coefficient_range, axis=1).max() <= 1
    area, points = ground_of(t.name, 1500).vertex_measure, ground_of(t.name, 1500).mesh.points
    rho = np.hypot(points[:, 0], points[:, 1])
    speeds = np.array([area @ rho**-2, area @ (np.sqrt(0.84) / (0.16 * rho))]) / area.sum()
    assert np.allclose(speeds, t.mean_angular_speeds, rtol=0.01)


@pytest.mark.parametrize("name", ["toroidal_transport", "vorticity_dynamics"])
def test_records_lie_on_the_smooth_shape_within_the_stated_ranges(name):
    t = task(name)
    records = t.samples(1, 0, 100)
    low, high = t.config.n_sources
    counts = {len(r["widths"]) for r in records}
    assert min(counts) == low and max(counts) == high
    for r in records:
        assert np.abs(t.shape.project(r["centres"]) - r["centres"]).max() < 1e-12
    strengths = np.concatenate([r["strengths"] for r in records])
    assert np.abs(strengths).min() >= 0.5 and np.abs(strengths).max() <= 2.0
    if name == "vorticity_dynamics":
        assert 0.4 < (strengths > 0).mean() < 0.6
        widths = np.concatenate([r["widths"] for r in records])
        assert widths.min() >= 0.12 and widths.max() <= 0.25
    else:
        assert strengths.min() > 0
        assert all(-1 <= r["offset"][0] <= 1 for r in records)


@pytest.mark.parametrize("name", ["toroidal_transport", "vorticity_dynamics"])
def test_outputs_have_many_effective_dimensions_and_differ_from_the_input(name):
    """At least 20 principal components for 99 % of the variance: no few numbers explain the target."""
    t = task(name)
    ground = ground_of(name, N)
    r = t.realise(t.samples(0, 0, 96), ground)
    x = (r.target - r.target.mean(axis=0)) * np.sqrt(ground.vertex_measure)
    energy = np.linalg.svd(x, compute_uv=False) ** 2
    assert np.searchsorted(np.cumsum(energy), 0.99 * energy.sum()) + 1 >= 20
    assert relative(r.inputs["initial"], r.target, ground.vertex_measure).mean() > 0.3


@pytest.mark.full
@pytest.mark.parametrize("name", ["toroidal_transport", "vorticity_dynamics"])
def test_laws_hold_for_all_of_400_samples_at_full_size(name):
    t = task(name)
    ground = Ground(t.mesh())
    r = t.realise(t.samples(0, 0, 400), ground)
    area, start = ground.vertex_measure, r.inputs["initial"]
    drift = np.abs((r.trajectory - start[:, None]) @ area) / (np.abs(start) @ area)[:, None]
    assert drift.max() <= 1e-10
    if name == "toroidal_transport":
        low, high = start.min(axis=1), start.max(axis=1)
        beyond = np.maximum(r.trajectory.max(axis=(1, 2)) - high, low - r.trajectory.min(axis=(1, 2)))
        assert (beyond <= 1e-8 * (high - low)).all()
        return
    flow = t.flow(ground)
    previous = None
    for k in range(len(t.times)):
        w = np.ascontiguousarray(r.trajectory[:, k].T)
        now = np.stack([flow.energy(w, flow.stream_function(w)), flow.enstrophy(w)])
        assert previous is None or (now <= previous * (1 + 1e-12)).all()
        previous = now


def test_bad_configs_and_meshes_are_refused_by_name():
    for config in (
        {"nu": -1.0},
        {"duration": 0.0},
        {"n_snapshots": 0},
        {"strengths": (2.0, 1.0)},
        {"n_sources": (0, 3)},
    ):
        for name in ("toroidal_transport", "vorticity_dynamics"):
            with pytest.raises(InputError) as caught:
                task(name, **config)
            assert caught.value.kind == "bad_option"
    with pytest.raises(UnknownNameError, match="harmonic, rotation"):
        task("toroidal_transport", velocity="swirl")
    t = task("toroidal_transport")
    with pytest.raises(TopologyError) as caught:
        t.realise(t.samples(0, 0, 1), Ground(gallery("sphere", 200)))
    assert caught.value.kind == "betti"
