"""A task card as text."""

from __future__ import annotations

from typing import Any

from hsd.cli_text import table

HODGE = ("exact", "coexact", "harmonic")


def card_text(card: dict[str, Any]) -> str:
    """The card for a terminal; see :func:`hsd.data.card.task_card` for what the numbers are."""
    counts = dict(zip(("vertices", "edges", "triangles", "tetrahedra"), card["mesh"]["counts"]))
    split = card["split"]
    lines = [
        f"{card['title']} ({card['task']})",
        card["equation"],
        "",
        ", ".join(f"{n} {what}" for what, n in counts.items()) + f"; Betti numbers {card['mesh']['betti']}",
        f"{card['n_samples']} samples of seed {card['seed']}: {split['train']} training, {split['validation']} "
        f"validation, {split['test']} test",
        "",
        table(
            [
                (role, entry["title"] or entry["name"], entry["degree"], entry["reading"], entry["effective_dimension"],
                 f"{entry['participation']:.1f}")
                for role, entry in [*(("input", e) for e in card["inputs"]), ("target", card["target"])]
            ],
            ("", "field", "degree", "reads as", "components for 99 %", "participation"),
        ),
    ]  # fmt: skip
    if card["coefficients"]:
        lines.append("coefficients: " + ", ".join(f"{n} of {name!r}" for name, n in card["coefficients"].items()))
    lines += ["", f"Energy of the target (from {card['shares_from']} samples)"]
    rows = [(part, _percent(card["shares"][part])) for part in HODGE]
    rows += [(f"made as {name}", _percent(share)) for name, share in card["parts"].items()]
    if card["parts"]:
        rows.append(("cross term of the making", _percent(card["cross"])))
        rows.append(("mean |cross term|", _percent(card["cross_absolute"])))
    lines += [table(rows, ("part", "share")), "", "Floor of the projection on Hodge modes (relative L2)"]
    lines.append(
        table(
            [
                (
                    f["asked"],
                    " + ".join(f"{n} {part}" for part, n in f["modes"].items() if n),
                    f"{f['star_error']:.4f}",
                    f"{f['node_error']:.4f}",
                )
                for f in card["floor"]
            ],
            ("modes", "used", "in ⋆", "node values"),
        )
    )
    lines += ["", "Trivial predictors (relative L2 of node values, test samples)"]
    rows = [(name, "–" if error is None else f"{error:.4f}") for name, error in card["predictors"].items()]
    lines.append(table(rows, ("predictor", "error")))
    ridge = card["ridge"]
    lines.append(f"ridge on {ridge['modes']} modes of each input, penalty {ridge['penalty']:.2g} by validation")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
