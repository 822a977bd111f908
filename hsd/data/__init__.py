"""Data for operators: tasks with ground truth, dataset files, splits, normalisation, grid transfer.

numpy and scipy only, but for ``domain`` and ``batch``, from which on torch is used.
"""
