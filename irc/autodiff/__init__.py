"""Reverse mode on functions of nd ops: `reverse_mode` walks backwards, `gradients` has a rule for each op."""
