"""Sparse matrices as torch tensors, made in one place."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
import torch


def csr_tensor(
    starts: torch.Tensor, columns: torch.Tensor, values: torch.Tensor, shape: tuple[int, int], check: bool = True
) -> torch.Tensor:
    """The CSR tensor of row starts, columns and values, on the device of the values; ``check``: its structure too."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks) ")
        return torch.sparse_csr_tensor(
            starts, columns, values, size=shape, check_invariants=check, device=values.device
        )


def tensor_of(matrix: sp.spmatrix, dtype: torch.dtype = torch.float64, device="cpu") -> torch.Tensor:
    """The CSR tensor of a scipy matrix."""
    matrix = sp.csr_matrix(matrix, dtype=np.float64)
    matrix.sort_indices()
    starts, columns = (torch.as_tensor(x, dtype=torch.int64, device=device) for x in (matrix.indptr, matrix.indices))
    return csr_tensor(starts, columns, torch.as_tensor(matrix.data).to(device, dtype), matrix.shape)
