"""Command line: ``python -m hsd report | modes | decompose | figure | gallery | data | train | … | cache``.

Results go to the standard output, errors and progress to the error stream.  Exit codes: 0 done, 1 an error in the data
(one sentence, with its kind), 2 a usage error, 130 interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from hsd import __version__
from hsd.cli_benchmark import add_command as add_benchmark
from hsd.cli_cost import add_command as add_cost
from hsd.cli_data import add_commands as add_data_commands
from hsd.cli_figure import add_options as add_figure_options
from hsd.cli_figure import check as check_figure
from hsd.cli_pretrain import add_command as add_pretrain
from hsd.cli_progress import Progress
from hsd.cli_text import report_text, table, whole_number
from hsd.cli_train import add_commands as add_train_commands
from hsd.cli_transfer import add_command as add_transfer
from hsd.errors import HsdError, InputError, Notice

FILE_HELP = "a mesh, point cloud or graph file, or gallery:NAME or gallery:NAME:VERTICES"
OUT_HELP = "file to write: .npz, or .vtp, .vtu or .vtk for a viewer"


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands; each sets ``run`` to its function."""
    parser = argparse.ArgumentParser(prog="python -m hsd", description="Topology and Hodge theory of meshes.")
    parser.add_argument("--version", action="version", version=f"hsd {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    report = commands.add_parser("report", help="counts, topology, Betti numbers, measures and defects of a mesh")
    _add_file(report)
    report.add_argument("--json", action="store_true", help="print one JSON object, also for an error")
    report.set_defaults(run=run_report)

    modes = commands.add_parser("modes", help="lowest eigenmodes of the Hodge Laplacian, each labelled with its part")
    _add_file(modes)
    _add_space(modes)
    modes.add_argument("--n", type=whole_number, default=None, help="number of lowest modes, whatever their part (64)")
    modes.add_argument("--n-exact", type=whole_number, default=None, help="instead of --n: number of exact modes")
    modes.add_argument("--n-coexact", type=whole_number, default=None, help="instead of --n: number of coexact modes")
    modes.add_argument("--out", type=Path, help=OUT_HELP)
    _add_progress(modes)
    modes.set_defaults(run=run_modes, usage=modes.error)

    split = commands.add_parser("decompose", help="split a field into its exact, coexact and harmonic parts")
    _add_file(split)
    _add_space(split)
    split.add_argument(
        "--field",
        required=True,
        help="a .npy, .npz or .csv file (a cochain in stored order, vectors in file order, or a CSV with the header "
        "tail,head,value), FILE.csv:COLUMN, FILE.npz:NAME, the name of a field within the mesh file, a .json file of a "
        "field composed in the app, or preset:NAME or preset:NAME:SEED; an edge value is positive from tail to head",
    )
    split.add_argument("--via-vectors", action="store_true", help="split ♭ of the field's vectors at vertices instead")
    split.add_argument("--out", type=Path, help=OUT_HELP)
    _add_progress(split)
    split.set_defaults(run=run_decompose)

    figure = commands.add_parser(
        "figure", help="a mode, a field and its truncation, or a decomposition, as a PNG without a browser"
    )
    _add_file(figure)
    _add_space(figure)
    add_figure_options(figure)
    _add_progress(figure)
    figure.set_defaults(run=run_figure)

    shapes = commands.add_parser("gallery", help="write a mesh of the procedural gallery")
    shapes.add_argument("name", metavar="NAME", help="sphere, torus, … (an unknown name lists all)")
    shapes.add_argument("--n", type=whole_number, default=2000, help="number of vertices aimed at (2000)")
    shapes.add_argument("--out", type=Path, required=True, help="mesh file to write; its suffix is the format")
    shapes.set_defaults(run=run_gallery)

    add_data_commands(commands.add_parser("data", help="dataset files: make, check, and what a task is like"))

    add_train_commands(commands)
    add_transfer(commands)
    add_cost(commands)
    add_benchmark(commands)
    add_pretrain(commands)

    cache = commands.add_parser("cache", help="size of the cache of bases, or clear it")
    cache.add_argument("action", choices=("size", "clear"))
    cache.set_defaults(run=run_cache)
    return parser


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "--weld", type=float, default=1e-6, help="merge points nearer than this share of the box (1e-6; 0: never)"
    )
    parser.add_argument("--keep-loose", action="store_true", help="keep points that no cell uses")
    parser.add_argument("--fill-triangles", action="store_true", help="graphs: fill every triangle of edges")
    parser.add_argument("--radius", type=float, default=None, help="point clouds: radius of the alpha complex")


def _add_space(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--degree", type=int, choices=(0, 1, 2, 3), default=1, help="degree k of the forms (1)")
    parser.add_argument("--bc", choices=("absolute", "relative"), default="absolute", help="boundary condition")
    parser.add_argument("--star", choices=("galerkin", "diagonal", "unit"), default="galerkin", help="Hodge star")


def _add_progress(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--progress", action="store_true", help="report progress even where there is no terminal")


# ---- commands ----------------------------------------------------------------------------------------------------


def load(args: argparse.Namespace):
    """The mesh that FILE names: a file, or ``gallery:NAME[:VERTICES]``.  Options that do not apply are said."""
    mesh = _gallery_or_file(args)
    if args.command != "report":  # whose warnings say it
        _write_notices(n for n in mesh.notices if n.kind == "ignored_option")
    return mesh


def _gallery_or_file(args: argparse.Namespace):
    if args.file.startswith("gallery:"):
        name, _, count = args.file.removeprefix("gallery:").partition(":")
        if count and not count.isdecimal():
            raise InputError(f"After gallery:{name}: a number of vertices is expected, got {count!r}.", "bad_number")
        mesh = _gallery(name, int(count) if count else 2000)
        options = {
            "--weld": args.weld != 1e-6,
            "--keep-loose": args.keep_loose,
            "--fill-triangles": args.fill_triangles,
            "--radius": args.radius is not None,
        }
        given = ", ".join(name for name, used in options.items() if used)
        if given:
            return mesh.with_notices(Notice("ignored_option", f"{given} changes nothing on a shape of the gallery."))
        return mesh
    from hsd.mesh.io import load_mesh

    return load_mesh(
        args.file, weld=args.weld, keep_loose=args.keep_loose, fill_triangles=args.fill_triangles, radius=args.radius
    )


def _gallery(name: str, n_vertices: int):
    """A shape under the name that was asked for."""
    from hsd.mesh.primitives import gallery

    return replace(gallery(name, n_vertices), name=name)


def run_report(args: argparse.Namespace) -> None:
    from hsd.hodge.report import report

    mesh = load(args)
    facts = report(mesh)
    _write(json.dumps(facts, allow_nan=False) + "\n" if args.json else report_text(mesh.name, facts))


def run_modes(args: argparse.Namespace) -> None:
    by_part = args.n_exact is not None or args.n_coexact is not None
    if by_part and args.n is not None:
        args.usage("give either --n, or --n-exact and --n-coexact, not both")
    _check_out(args.out)
    from hsd.cli_output import check_fits, save_modes
    from hsd.hodge.spectral_energy import by_eigenvalue
    from hsd.hodge.spectrum import HodgeBasis, lowest_modes

    mesh = load(args)
    check_fits(args.out, mesh, args.degree)
    with _progress(args) as progress:
        more = {"bc": args.bc, "star": args.star, "progress": progress}
        if by_part:
            basis = HodgeBasis(mesh, args.degree, args.n_exact or 0, args.n_coexact or 0, **more)
        else:
            basis = lowest_modes(mesh, args.degree, 64 if args.n is None else args.n, **more)
    rank = by_eigenvalue(basis).argsort(kind="stable").tolist()
    pairs = zip(basis.part, basis.eigenvalues, strict=True)
    rows = [(i, rank[i], part, float(value)) for i, (part, value) in enumerate(pairs)]
    _write(table(rows, ("column", "mode", "part", "eigenvalue")) + "\n")
    _write(
        "column: place in the file and in HodgeBasis, part by part (harmonic, exact, coexact), each part by increasing "
        "eigenvalue.  mode: place by eigenvalue over all parts, as `figure --mode` and the app count.\n"
    )
    _write_notices(basis.notices)
    if args.out:
        save_modes(args.out, mesh, basis)
        _write(f"{len(rows)} modes written to {args.out}\n")


def run_decompose(args: argparse.Namespace) -> None:
    _check_out(args.out)
    from hsd.cli_output import check_fits, save_decomposition
    from hsd.hodge.decomposition import Decomposer
    from hsd.hodge.named_field import named_field
    from hsd.hodge.solver import HodgeSolver

    mesh = load(args)
    check_fits(args.out, mesh, args.degree)
    with _progress(args) as progress:
        progress("making the field")
        solver = HodgeSolver(mesh, args.star, args.bc)
        omega, taken_as, _ = named_field(solver, args.field, args.degree, args.via_vectors)
        progress("splitting the field")
        parts = Decomposer(mesh, args.degree, solver=solver)(omega)
    _write(taken_as + "\n\n")
    total = parts.energies["total"]
    rows = [(part, float(e), float(100 * e / total) if total else 0.0) for part, e in parts.energies.items()]
    _write(table(rows, ("part", "energy", "share in %")) + "\n")
    _write(f"relative residual {parts.residual:.3g}\n")
    if args.bc == "relative" and (omega[mesh.complex.on_boundary(args.degree)] != 0).any():
        _write("Under relative conditions the values on boundary simplices count as zero.\n")
    if args.out:
        save_decomposition(args.out, mesh, omega, parts, {"field": args.field})
        _write(f"parts written to {args.out}\n")


def run_figure(args: argparse.Namespace) -> None:
    check_figure(args)
    mesh = load(args)
    from hsd.cli_figure import draw

    with _progress(args) as progress:
        sentence = draw(args, mesh, progress)
    _write(sentence + "\n")


def run_gallery(args: argparse.Namespace) -> None:
    from hsd.mesh.io import save_mesh

    mesh = _gallery(args.name, args.n)
    save_mesh(mesh, args.out)
    kinds = ("vertices", "edges", "triangles", "tetrahedra")
    counts = ", ".join(f"{n} {kind}" for n, kind in zip(mesh.complex.counts, kinds, strict=False))
    _write(f"{mesh.name} written to {args.out}: {counts}\n")


def run_cache(args: argparse.Namespace) -> None:
    from hsd.hodge.cache import cache_folder, cache_size, clear_cache

    entries, size = cache_size()
    if args.action == "clear":
        clear_cache()
        _write(f"removed {entries} entries, {size / 1e6:.1f} MB, from {cache_folder()}\n")
    else:
        _write(f"{entries} entries, {size / 1e6:.1f} MB, in {cache_folder()}\n")


def _progress(args: argparse.Namespace) -> Progress:
    live = sys.stderr.isatty()
    return Progress(sys.stderr if live or args.progress else None, live)


def _check_out(path: Path | None) -> None:
    """Refuse a result file that cannot be written before the long work starts."""
    if path is None:
        return
    if path.suffix.lower() not in (".npz", ".vtp", ".vtu", ".vtk"):
        raise InputError(
            f"Results are written as .npz, .vtp, .vtu or .vtk; {path.name!r} ends in none of them.", "unknown_format"
        )
    if not path.parent.is_dir():
        raise InputError(f"The folder {path.parent} does not exist; make it first.", "no_folder")


def _write(text: str) -> None:
    sys.stdout.write(text)


def _write_notices(notices) -> None:
    for notice in notices:
        _write(f"[{notice.kind}] {notice.message}\n")


# ---- entry -------------------------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one sentence (or, with --json, one object)."""
    args = build_parser().parse_args(argv)
    try:
        code = args.run(args) or 0
        sys.stdout.flush()
        return code
    except HsdError as error:
        return _fail(args, error.kind, error.message)
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as error:
        return _fail(args, "file", f"{error.filename or 'The output'}: {error.strerror or error}.")
    except MemoryError:
        return _fail(args, "memory", "There is not enough memory for this; use a smaller mesh or fewer modes.")
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return 130


def _fail(args: argparse.Namespace, kind: str, message: str) -> int:
    """Say the error where it is awaited; on the error stream where the output itself cannot be written."""
    as_json = getattr(args, "json", False)
    try:
        if as_json:
            _write(json.dumps({"error": {"kind": kind, "message": message}}) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError:
        _drop_output()
        as_json = False
    if not as_json:
        sys.stderr.write(f"error [{kind}]: {message}\n")
    return 1


def _drop_output() -> None:
    """Send what is still to be written, now and at exit, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
