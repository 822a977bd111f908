"""Paths and options of load_mesh: what is no path or number is refused, what does not apply is said."""

from __future__ import annotations

import pytest

from hsd.errors import InputError
from hsd.mesh.io import load_mesh, load_mesh_bytes
from tests.mesh import small_files as small


def test_a_path_that_is_no_file_is_said_as_what_it_is(tmp_path):
    for path, says in (("", "is empty"), ("/dev/null", "no regular file"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=says) as caught:
            load_mesh(path)
        assert caught.value.kind == "no_file"


@pytest.mark.parametrize("more", [{"weld": "a"}, {"weld": None}, {"weld": True}, {"radius": "1"}, {"radius": [1]}])
def test_options_that_are_no_numbers_are_refused(more, tmp_path):
    (tmp_path / "a.obj").write_text(small.OBJ_MANY)
    with pytest.raises(InputError) as caught:
        load_mesh(tmp_path / "a.obj", **more)
    assert caught.value.kind == "bad_option" and next(iter(more)) in caught.value.message


@pytest.mark.parametrize("path", [None, 3, b"a.obj", ["a.obj"]])
def test_a_path_of_another_type_is_refused(path):
    with pytest.raises(InputError) as caught:
        load_mesh(path)
    assert caught.value.kind == "bad_option"


@pytest.mark.parametrize("data, name", [(None, "a.obj"), (5, "a.obj"), ("v 0 0 0", "a.obj"), (b"v 0 0 0", None)])
def test_content_of_another_type_is_refused(data, name):
    with pytest.raises(InputError) as caught:
        load_mesh_bytes(data, name)
    assert caught.value.kind == "bad_option"


@pytest.mark.parametrize("radius", [-1, float("nan")])
def test_a_bad_radius_is_refused_whatever_the_file_holds(radius):
    with pytest.raises(InputError) as caught:
        load_mesh_bytes(small.OBJ_MANY.encode(), "a.obj", radius=radius)
    assert caught.value.kind == "radius"


@pytest.mark.parametrize(
    "name, text, option, says",
    [
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", {"radius": 1.0}, "point clouds"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", {"fill_triangles": True}, "graphs"),
        ("g.csv", "u,v\n0,1\n", {"radius": 1.0}, "point clouds"),
        ("p.xyz", "0 0 0\n1 0 0\n0 1 0\n", {"fill_triangles": True}, "graphs"),
    ],
)
def test_an_option_that_does_not_apply_is_said(name, text, option, says):
    def ignored(**more):
        return [n.message for n in load_mesh_bytes(text.encode(), name, **more).notices if n.kind == "ignored_option"]

    assert ignored() == [] and len(ignored(**option)) == 1 and says in ignored(**option)[0]


def test_an_option_that_applies_is_not_called_ignored():
    for name, text, option in (
        ("g.csv", "u,v\n0,1\n", {"fill_triangles": True}),
        ("p.xyz", "0 0 0\n1 0 0\n0 1 0\n", {"radius": 2.0}),
    ):
        assert "ignored_option" not in {n.kind for n in load_mesh_bytes(text.encode(), name, **option).notices}
