"""``python -m hsd figure``: a mode, a field and its truncation, or a decomposition, as a PNG without a browser."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from hsd.cli_text import whole_number
from hsd.errors import InputError, naming

PRESETS = (
    "mixture", "dipole", "vortices", "vortex", "loops", "random", "empty", "waves", "blob", "vortex_pair", "coordinate"
)  # fmt: skip
THEMES = ("light", "dark", "projector")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of the command beside FILE, degree, boundary condition and star."""
    parser.add_argument("--n", type=whole_number, default=32, help="number of lowest modes to compute (32)")
    parser.add_argument("--mode", type=int, default=0, help="mode to draw, counted by eigenvalue over all parts (0)")
    parser.add_argument(
        "--field", help="draw this field instead of a mode: a file, a name or preset:NAME:SEED as in decompose "
        f"(presets: {', '.join(PRESETS)})",
    )  # fmt: skip
    parser.add_argument(
        "--keep", type=whole_number, help="with --field: also its sum over this many modes, and the difference"
    )
    parser.add_argument(
        "--parts",
        action="store_true",
        help="the Hodge decomposition of the field (preset:mixture): four panels ω, exact dα, coexact δβ, harmonic γ",
    )
    parser.add_argument("--via-vectors", action="store_true", help="take ♭ of the field's vectors at vertices instead")
    parser.add_argument("--generators", action="store_true", help="draw the generators of homology")
    parser.add_argument("--no-arrows", action="store_true", help="leave arrows away")
    parser.add_argument("--edges", action="store_true", help="draw the edges of the mesh")
    parser.add_argument("--cut", type=float, default=0.55, help="tetrahedra: where the mesh is cut, 0 to 1 (0.55)")
    parser.add_argument("--view", type=_vector, help="direction of sight x,y,z (the app's first view)")
    parser.add_argument("--size", type=_size, default=(1600, 1200), help="WIDTHxHEIGHT in pixels (1600x1200)")
    parser.add_argument("--theme", choices=THEMES, default="light", help="colours of paper and text (light)")
    parser.add_argument("--transparent", action="store_true", help="no paper behind the picture")
    parser.add_argument("--no-caption", action="store_true", help="leave the caption away")
    parser.add_argument("--out", type=Path, required=True, help="PNG file to write")


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected WIDTHxHEIGHT like 1600x1200, got {text!r}")
    return int(width), int(height)


def _vector(text: str) -> tuple[float, float, float]:
    try:
        x, y, z = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected three numbers like 1,0,-0.5, got {text!r}") from None
    if not 0 < x * x + y * y + z * z < float("inf"):
        raise argparse.ArgumentTypeError(f"a direction must not be zero, got {text!r}")
    return x, y, z


def check(args: argparse.Namespace) -> None:
    """Refuse what cannot work before the long work starts."""
    if args.out.suffix.lower() != ".png":
        raise InputError(f"Figures are written as .png; {args.out.name!r} does not end in it.", "unknown_format")
    if not args.out.parent.is_dir():
        raise InputError(f"The folder {args.out.parent} does not exist; make it first.", "no_folder")
    if args.keep is not None and args.field is None:
        raise InputError("--keep counts the modes that a field is summed over; give --field too.", "usage")
    if args.keep is not None and args.parts:
        raise InputError("--keep and --parts are two different pictures; give one of them.", "usage")


def scene_of(args: argparse.Namespace, mesh, progress):
    """The scene that the arguments ask for: the same as on the app's pages."""
    from hsd.errors import HsdError
    from hsd.hodge.solver import HodgeSolver
    from hsd.hodge.spectrum import lowest_modes
    from hsd.viz import build, modes
    from hsd.viz.embed import drawing_points

    surface = build.surface_of(mesh, drawing_points(mesh))
    try:
        glyphs = None if args.no_arrows or mesh.points is None else build.glyphs_of(mesh, surface)
    except HsdError:  # graphs and degenerate meshes have no arrows
        glyphs = None
    options = {"theme": args.theme, "clip": args.cut if mesh.dim == 3 else None}
    if args.parts:
        return _drawable(*parts_of(args, mesh, surface, glyphs, options, progress))
    if args.field is not None and args.keep is None:
        omega, said = field_of(args, HodgeSolver(mesh, args.star, args.bc))
        picture = modes.picture_of(mesh, args.degree, omega[:, None], glyphs, symbol="ω")
        scene = modes.mode_scene(picture, surface, 0, caption=said, wireframe=args.edges, **options)
        return _drawable(scene, picture)
    basis = lowest_modes(mesh, args.degree, args.n, bc=args.bc, star=args.star, progress=progress)
    if basis.n_modes == 0:
        raise InputError(f"{args.bc} conditions leave no {args.degree}-form on {mesh.name}.", "n_modes")
    if args.field is not None:
        from hsd.hodge.spectral_energy import spectral_energy
        from hsd.viz.energy_scene import energy_picture, energy_scene

        omega, said = field_of(args, basis.solver)
        energy = spectral_energy(basis, omega)
        keep = max(1, min(args.keep, basis.n_modes))
        picture = energy_picture(energy, omega, glyphs)
        said += f" {keep} modes kept, relative error {energy.errors[keep]:.4g}."
        return _drawable(energy_scene(picture, surface, energy, keep, caption=said, **options), picture)
    if not 0 <= args.mode < basis.n_modes:
        raise InputError(f"Modes are numbered 0 to {basis.n_modes - 1} here; got {args.mode}. Raise --n.", "n_modes")
    picture = modes.modes_picture(basis, glyphs)
    layers, said = (), ""
    if args.generators:
        cycles = basis.solver.homology.cycles(args.degree)
        layers, said = modes.generator_layers(mesh, surface, args.degree, cycles, args.bc)
    column = modes.by_eigenvalue(basis)[args.mode]
    what = f"{mesh.name}, {mesh.complex.n_vertices} vertices: mode {args.mode} of the Hodge Laplacian"
    value = f"λ = {basis.eigenvalues[column]:.5g}, {basis.part[column]}"
    caption = f"{what} on {args.degree}-forms, {value}; {args.bc}, {args.star} star. {said}"
    title = f"Mode {args.mode} of Δ{'₀₁₂₃'[args.degree]}"
    scene = modes.mode_scene(
        picture, surface, args.mode, layers=layers, title=title, caption=caption, wireframe=args.edges, **options
    )
    return _drawable(scene, picture)


def _drawable(scene, picture):
    if picture.columns is None:
        raise InputError(picture.why_not, "not_drawable")
    return scene


def field_of(args: argparse.Namespace, solver):
    """The field as a cochain and the sentence that says what it is."""
    from hsd.hodge.named_field import named_field

    return named_field(solver, args.field, args.degree, args.via_vectors, composed=False)[:2]


def parts_of(args: argparse.Namespace, mesh, surface, glyphs, options: dict, progress):
    """Scene and picture of a decomposition: the first view of the app's page, weights 1."""
    from hsd.hodge.decomposition import PARTS, Decomposer
    from hsd.hodge.named_field import named_field
    from hsd.hodge.solver import HodgeSolver
    from hsd.viz import decomposition_scene as scenes

    progress("making the field")
    solver = HodgeSolver(mesh, args.star, args.bc)
    omega, said, composition = named_field(solver, args.field or "preset:mixture", args.degree, args.via_vectors)
    progress("splitting the field")
    parts = Decomposer(mesh, args.degree, solver=solver)(omega)
    picture = scenes.parts_picture(mesh, parts, glyphs)
    if picture.columns is None:
        return None, picture
    total = parts.energies["total"] or 1.0
    shares = ", ".join(f"{scenes.SYMBOLS[p]} {100 * parts.energies[p] / total:.3g} %" for p in PARTS)
    caption = (
        f"{mesh.name}, {mesh.complex.n_vertices} vertices: ω = dα + δβ + γ of a {args.degree}-form; {args.bc}, "
        f"{args.star} star. {said} Energy: {shares}."
    )
    markers = scenes.markers_of(composition) if composition is not None and mesh.dim >= 2 else ()
    if markers:
        caption += " Points: red source, blue sink, orange vortex."
    scene = scenes.parts_scene(
        picture, surface, dict.fromkeys(PARTS, 1.0), energies=parts.energies, markers=markers, caption=caption,
        layers=_loops(args, mesh, surface, solver), **options,
    )  # fmt: skip
    panels = [replace(p, wireframe=args.edges) for p in scene.panels]
    return replace(scene, panels=(replace(panels[0], title="ω"), *panels[1:])), picture


def _loops(args: argparse.Namespace, mesh, surface, solver) -> list:
    """The generators, where they are asked for."""
    if not args.generators:
        return []
    from hsd.viz.modes import generator_layers

    return generator_layers(mesh, surface, args.degree, solver.homology.cycles(args.degree), args.bc)[0]


def draw(args: argparse.Namespace, mesh, progress) -> str:
    """Write the PNG and return the sentence on it."""
    from hsd.viz.headless import render

    scene = scene_of(args, mesh, progress)
    if args.no_caption:
        scene = replace(scene, caption="")
    progress("drawing")
    data = render(scene, args.size, direction=args.view, transparent=args.transparent)
    part = args.out.with_name(args.out.name + ".part")
    try:
        with naming(args.out):
            part.write_bytes(data)
            part.replace(args.out)
    finally:
        part.unlink(missing_ok=True)
    return f"{args.size[0]} × {args.size[1]} pixels written to {args.out}"
