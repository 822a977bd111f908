"""Checkpoints with fresh weights on small meshes, in the folders in which the app looks for shipped ones."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import torch

from hsd.data.domain import Domain
from hsd.data.placement import placements_of
from hsd.data.tasks import task as make_task
from hsd.models.registry import make_model
from hsd.training.checkpoint import save_checkpoint

NODES = 300
SMALL = {"hsd": {"n_modes": 16, "layers": 1}, "hsd-paper": {"variant": "paper"}, "deeponet": {"readings": 120}}


def make_checkpoints(root: Path, name: str, labels=("hsd", "fno3d", "deeponet"), nodes: int = NODES) -> Path:
    """``root/TASK/LABEL.safetensors`` with manifests; returns the root."""
    for label in labels:
        if not (root / name / f"{label}.safetensors").is_file():
            save(root / name / f"{label}.safetensors", name, label, nodes)
    return root


@lru_cache(maxsize=8)
def domain_of(name: str, nodes: int = NODES) -> Domain:
    """The domain of all checkpoints made here."""
    task = make_task(name)
    return Domain.build(task, task.mesh(nodes), 16, 16)


def save(path: Path, name: str, label: str, nodes: int = NODES, **more) -> Path:
    """One checkpoint of a task, weights from a fixed seed, forms scaled by 1."""
    task, domain = make_task(name), domain_of(name, nodes)
    with torch.random.fork_rng():
        torch.manual_seed(len(label))
        model = make_model(label.partition("-")[0], domain, name, **SMALL.get(label, {}))
        for parameter in model.parameters():  # so that zero last layers predict something
            if not parameter.abs().max():
                torch.nn.init.normal_(parameter, std=0.05)
    names = [f"input/{spec.name}" for spec in task.inputs] + ["target"]
    names += [f"coefficient/{field}" for field in domain.field_names]
    about = {
        "mesh_hash": domain.mesh.content_hash,
        "mesh_name": domain.mesh.name,
        "n_vertices": domain.n_vertices,
        "n_nodes": nodes,
        "n_modes": 16,
        "grid_size": 16,
        "scales": asdict(domain.scales),
        "placements": placements_of([domain.mesh]),
    }
    return save_checkpoint(
        path,
        model,
        normaliser_json=json.dumps({key: {"mean": 0.0, "scale": 1.0} for key in names}),
        domain_about=about,
        task=name,
        data={"seed": 0, "n_samples": 20, "n_nodes": nodes, "split": {"seed": 0}},
        training={"epochs": 1, "n_train": 13},
        **more,
    )
