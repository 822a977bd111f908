"""Every registered task: samples of their own, realised alike alone and together, in fitting shapes, in equal files."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.check import check_dataset
from hsd.data.dataset import Dataset
from hsd.data.generate import generate
from hsd.data.ground import Ground
from hsd.data.schema import expected_degrees
from hsd.data.tasks import TASKS, task
from hsd.data.tasks.base import READINGS
from hsd.errors import InputError, UnknownNameError

NODES = {"external_aerodynamics": 400}
"""Number of vertices asked for, where 200 are too few for the shape."""
NAMES = sorted(TASKS)
N_SAMPLES = 5


def nodes(name: str) -> int:
    return NODES.get(name, 200)


@pytest.fixture(scope="module", params=NAMES)
def made(request):
    """(task, its ground, its first records, them realised)."""
    own = task(request.param, n_nodes=nodes(request.param))
    ground = Ground(own.mesh())
    records = own.samples(0, 0, N_SAMPLES)
    return own, ground, records, own.realise(records, ground)


def arrays_of(result) -> dict[str, np.ndarray]:
    out = {f"input {k}": v for k, v in result.inputs.items()} | {f"part {k}": v for k, v in result.parts.items()}
    out |= {f"coefficient {k}": v for k, v in result.coefficients.items()} | {"target": result.target}
    return out if result.trajectory is None else {**out, "trajectory": result.trajectory}


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)


def test_sample_i_depends_on_task_seed_and_number_only(made):
    own, _, records, _ = made
    again = task(own.name, n_nodes=own.config.n_nodes, n_samples=7)
    for i in reversed(range(N_SAMPLES)):
        assert same(again.sample(0, i), records[i])
    others = [own.sample(1, 0), own.sample(0, N_SAMPLES), own.sample(2**40, 3)]
    for a in (*records, *others):
        assert sum(same(a, b) for b in (*records, *others)) == 1


def test_records_do_not_know_the_mesh(made):
    own, _, records, _ = made
    finer = task(own.name, n_nodes=2 * own.config.n_nodes)
    assert all(same(finer.sample(0, i), record) for i, record in enumerate(records))
    assert sum(v.size for v in records[0].values()) < own.config.n_nodes


@pytest.mark.parametrize("bad", [(-1, 0), (0, -1), (0.5, 0), (0, True)])
@pytest.mark.parametrize("name", NAMES)
def test_bad_sample_numbers_are_refused(name, bad):
    with pytest.raises(InputError):
        task(name).sample(*bad)


@pytest.mark.parametrize("name", NAMES)
def test_unknown_config_entries_are_refused_with_the_known_ones(name):
    with pytest.raises(UnknownNameError) as caught:
        task(name, colour="red")
    assert "n_nodes" in caught.value.message


def test_realising_together_equals_realising_alone(made):
    own, ground, records, together = made
    for i, record in enumerate(records):
        alone = arrays_of(own.realise([record], ground))
        for key, values in arrays_of(together).items():
            size = np.abs(values[i]).max()
            assert np.abs(alone[key][0] - values[i]).max() <= 1e-11 * size, key


def test_the_order_of_samples_is_that_of_records(made):
    own, ground, records, together = made
    turned = own.realise(records[::-1], ground)
    for key, values in arrays_of(turned).items():
        expected = arrays_of(together)[key][::-1]
        assert np.abs(values - expected).max() <= 1e-11 * np.abs(expected).max(), key


def test_shapes_and_readings_fit_the_specs(made):
    own, ground, _, result = made
    cx = ground.mesh.complex
    assert set(result.inputs) == {spec.name for spec in own.inputs}
    for spec in (*own.inputs, own.target):
        values = result.target if spec is own.target else result.inputs[spec.name]
        assert spec.reading in READINGS and spec.degree in expected_degrees(spec.reading, ground.mesh.dim)
        assert values.shape == (N_SAMPLES, cx.n(spec.degree)) and values.dtype == np.float64
        assert np.isfinite(values).all() and (np.abs(values).max(axis=1) > 0).all()
    for part in result.parts.values():
        assert part.shape == result.target.shape
    if result.parts:
        assert np.abs(sum(result.parts.values()) - result.target).max() <= 1e-12 * np.abs(result.target).max()


def test_named_fields_fit_the_coefficients(made):
    own, ground, _, result = made
    fields = own.named_fields(ground)
    assert set(result.coefficients) <= set(fields)
    for name, values in result.coefficients.items():
        field = fields[name]
        assert field.values.shape == (ground.mesh.complex.n(field.degree), values.shape[1])
        assert values.shape[0] == N_SAMPLES and np.isfinite(values).all()
        if field.reference:
            star = ground.dec.star(own.target.degree)
            assert field.degree == own.target.degree
            assert np.abs(field.values.T @ (star @ field.values) - np.eye(values.shape[1])).max() < 1e-10
            got = result.target @ (star @ field.values)
            assert (
                np.abs(got - values).max()
                <= 1e-10 * np.sqrt(np.einsum("bi,bi->b", result.target, (star @ result.target.T).T)).max()
            )


def test_trajectories_begin_with_the_input_and_end_with_the_target(made):
    own, _, _, result = made
    assert (result.trajectory is not None) == own.time_dependent
    if own.time_dependent:
        state = [s for s in own.inputs if (s.degree, s.reading) == (own.target.degree, own.target.reading)]
        assert result.trajectory.ndim == 3 and result.trajectory.shape[1] >= 2
        assert np.array_equal(result.trajectory[:, 0], result.inputs[state[0].name])
        assert np.array_equal(result.trajectory[:, -1], result.target)


def test_vertices_lie_within_distance_1_of_the_centroid_or_as_stated(made):
    """Lengths are scaled as the task states; none is in metres or millimetres."""
    own, ground, _, _ = made
    assert 0.5 < np.abs(ground.mesh.points).max() < 2.5
    assert 0.3 * own.config.n_nodes < ground.mesh.complex.n_vertices < 3 * own.config.n_nodes


def test_files_hold_what_the_task_realises_bit_identical_with_one_and_two_workers(made, tmp_path):
    own, ground, _, result = made
    paths = [tmp_path / f"{workers}.npz" for workers in (1, 2)]
    for workers, path in enumerate(paths, 1):
        generate(own.name, path, N_SAMPLES, nodes(own.name), 0, workers=workers, chunk=2)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert check_dataset(paths[0]) == []
    data = Dataset(paths[0])
    assert data.meshes[0].content_hash == ground.mesh.content_hash
    for key, values in arrays_of(result).items():
        kind, _, label = key.partition(" ")
        if kind != "part":
            got = data.array({"input": f"input/{label}", "coefficient": f"coefficient/{label}"}.get(kind, kind))
            assert np.abs(got - values).max() <= 1e-6 * np.abs(values).max(), key
    for label, field in own.named_fields(ground).items():
        if label in result.coefficients:
            assert np.abs(data.named_fields()[label].values - field.values).max() < 1e-10
