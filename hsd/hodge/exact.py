"""Exact elimination of tiny integer matrices over Q or GF(2): ranks, kernels, quotients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from hsd.errors import check_choice

FIELDS = ("Q", "GF2")


def _number(value: int, field: str) -> Fraction | int:
    return Fraction(int(value)) if field == "Q" else int(value) % 2


def echelon(columns: list[dict[int, Fraction | int]], field: str) -> dict[int, dict]:
    """Reduced columns by their pivot row (the smallest row of each); the span is that of the given sparse columns."""
    pivots: dict[int, dict] = {}
    for column in columns:
        column = reduce_column(column, pivots, field)
        if column:
            pivot = min(column)
            lead = column[pivot]
            pivots[pivot] = {r: (v / lead if field == "Q" else 1) for r, v in column.items()}
    return pivots


def reduce_column(column: dict, pivots: dict[int, dict], field: str) -> dict:
    """The remainder of a sparse column after elimination by echelon columns."""
    column = dict(column)
    done: dict = {}
    while column:
        row = min(column)
        value = column[row]
        if row not in pivots:
            done[row] = column.pop(row)
            continue
        for r, v in pivots[row].items():
            new = column.get(r, 0) - value * v
            new = new if field == "Q" else new % 2
            if new:
                column[r] = new
            else:
                column.pop(r, None)
    return done


def sparse_columns(matrix: np.ndarray, field: str) -> list[dict]:
    """Columns of an integer matrix as {row: non-zero value of the field}."""
    out = []
    for column in matrix.T:
        entries = {int(r): _number(column[r], field) for r in np.flatnonzero(column)}
        out.append({r: v for r, v in entries.items() if v})
    return out


def rank(matrix: np.ndarray, field: str = "Q") -> int:
    """Exact rank of an integer matrix over Q or GF(2)."""
    check_choice("field", field, FIELDS)
    return len(echelon(sparse_columns(matrix, field), field))


def kernel(matrix: np.ndarray, field: str = "Q") -> list[dict]:
    """Basis of {x : matrix x = 0} as sparse vectors {column number: value}, by elimination of [matrix; identity]."""
    n_rows = matrix.shape[0]
    pivots: dict[int, dict] = {}
    basis = []
    for j, column in enumerate(sparse_columns(matrix, field)):
        column = {**column, n_rows + j: _number(1, field)}
        column = reduce_column(column, pivots, field)
        pivot = min(column)
        if pivot < n_rows:
            lead = column[pivot]
            pivots[pivot] = {r: (v / lead if field == "Q" else 1) for r, v in column.items()}
        else:
            basis.append({r - n_rows: v for r, v in column.items()})
    return basis


def quotient(matrix_out: np.ndarray, matrix_in: np.ndarray, field: str = "Q") -> np.ndarray:
    """Representatives of ker(matrix_out) / im(matrix_in), integers scaled to be primitive, (n, b) float64."""
    check_choice("field", field, FIELDS)
    n = matrix_out.shape[1]
    pivots = echelon(sparse_columns(matrix_in, field), field)
    chosen = []
    for vector in kernel(matrix_out, field):
        rest = reduce_column(vector, pivots, field)
        if rest:
            pivot = min(rest)
            lead = rest[pivot]
            pivots[pivot] = {r: (v / lead if field == "Q" else 1) for r, v in rest.items()}
            chosen.append(vector)
    out = np.zeros((n, len(chosen)))
    for j, vector in enumerate(chosen):
        scale = 1
        if field == "Q":
            scale = np.lcm.reduce([v.denominator for v in vector.values()])
        for row, value in vector.items():
            out[row, j] = float(value * int(scale))
    return out
