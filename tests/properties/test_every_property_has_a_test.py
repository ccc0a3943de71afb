"""Where each numbered property of window queries (Li) is tested."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

PROPERTIES = {
    "P1": [("windows/test_duality.py", "test_a_row_is_in_an_extent_exactly_when_the_window_is_in_its_wids")],
    "P2": [("properties/test_order_properties.py",
            "test_p2_any_order_that_crosses_no_promise_gives_the_same_results")],
    "P3": [("properties/test_order_properties.py",
            "test_p3_promises_left_out_repeated_or_put_off_and_batch_cuts_never_change_results")],
    "P4": [("properties/test_progress_properties.py", "test_p4_what_an_operator_promises_holds"),
           ("properties/test_progress_properties.py", "test_p4_what_a_union_promises_holds_and_is_said_once")],
    "P5": [("properties/test_window_properties.py", "test_p5_every_kernel_gives_the_oracles_answer")],
    "P6": [("properties/test_adaptive_properties.py",
            "test_p6_adaptwid_is_exact_under_any_switching_schedule_and_leaves_no_residue")],
    "P7": [("properties/test_join_properties.py",
            "test_p7_oa_join_is_the_predicate_for_any_skew_and_disorder_each_pair_once"),
           ("properties/test_join_properties.py",
            "test_p7_a_strict_band_is_the_join_of_windows_that_move_by_one"),
           ("embedded/test_stream_joins.py", "test_pairs_are_the_oracles")],
    "P8": [("windows/test_properties.py", "test_p8_a_row_is_in_at_most_the_ceiling_of_range_over_slide_windows"),
           ("properties/test_window_properties.py",
            "test_p8_ordered_input_needs_at_most_range_over_slide_partials_per_group_and_no_rows")],
    "P9": [("properties/test_progress_properties.py", "test_p9_what_is_closed_comes_out_and_is_forgotten")],
    "P10": [("properties/test_window_properties.py", "test_p10_a_partition_of_a_time_window_is_a_group")],
    "P11": [("properties/test_window_properties.py", "test_p11_a_landmark_window_contains_the_one_before_it")],
    "P12": [("properties/test_join_properties.py",
             "test_p12_an_unfiltered_box_is_never_later_than_a_slab_and_slabs_cover_what_the_filter_keeps_back")],
    "P13": [("progress/test_grammatical.py",
             "test_p13_the_low_watermark_never_decreases_and_is_the_minimum_of_the_future"),
            ("properties/test_progress_properties.py",
             "test_p13_bounds_never_go_back_also_where_promises_are_broken_or_weakened")],
    "P14": [("windows/test_properties.py", "test_p14_partial_windows_are_full_windows_cut_at_the_origin"),
            ("properties/test_window_properties.py",
             "test_p14_windows_that_begin_before_the_origin_are_full_windows_cut_there")],
    "P15": [("properties/test_two_level_properties.py",
             "test_p15_both_levels_are_one_aggregate_for_any_table_size_m_and_i")],
    "P16": [("progress/test_late.py",
             "test_p16_enough_slack_makes_no_error_and_consistent_errs_at_least_as_much_as_generous"),
            ("properties/test_adaptive_properties.py",
             "test_p16_enough_slack_makes_no_error_and_generous_slack_no_more_than_consistent")],
    "P17": [("progress/test_substreams_and_clocks.py", "test_p17_in_a_lull_the_bound_follows_the_clock_at_a_distance"),
            ("properties/test_progress_properties.py",
             "test_p17_a_lull_on_one_input_adds_no_rows_to_the_state_but_makes_an_ordered_union_hold_them")],
    "P18": [("windows/test_properties.py", "test_p18_windows_over_panes_have_the_ids_of_the_original_windows"),
            ("properties/test_window_properties.py", "test_p18_windows_put_together_from_panes_keep_their_ids")],
}


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_property_is_tested() -> None:
    assert sorted(PROPERTIES) == sorted(f"P{i}" for i in range(1, 19))


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_tests_of_a_property_exist(name: str) -> None:
    assert PROPERTIES[name]
    for file, function in PROPERTIES[name]:
        assert function in functions_of(file)
