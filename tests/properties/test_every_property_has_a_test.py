"""Where each numbered property of window queries (Li) and of continuous queries (Golab) is tested."""

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
    "P13": [("progress/test_generators.py",
             "test_p13_a_stream_is_grammatical_exactly_when_its_bounds_stay_at_or_below_the_low_watermark"),
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
             "test_p17_a_lull_on_one_input_adds_no_rows_to_the_state")],
    "P18": [("windows/test_properties.py", "test_p18_windows_over_panes_have_the_ids_of_the_original_windows"),
            ("properties/test_window_properties.py", "test_p18_windows_put_together_from_panes_keep_their_ids")],
}

RANDOM_PLANS, RELATIONS = "relations/test_random_plans.py", "relations/test_golab_properties.py"
REFRESHES, LEGALITY = "relations/test_golab_refreshes.py", "planner/test_legality.py"
MANNERS = "relations/test_many_join_manners.py"

GOLAB = {
    1: [(RANDOM_PLANS, "test_every_plan_equals_its_definition_at_every_instant"),
        (RANDOM_PLANS, "test_every_plan_as_a_stream"),
        (RELATIONS, "test_property_1_a_table_beside_any_plan_is_met_as_defined"),
        ("spark/test_query_shards.py", "test_random_plans_give_the_oracles_answer_in_any_number_of_shards")],
    2: [(RANDOM_PLANS, "test_all_styles_agree")],
    3: [(RANDOM_PLANS, "test_results_leave_as_their_label_says_and_only_strict_edges_send_ends"),
        ("planner/test_soundness.py", "test_operators_over_operators")],
    4: [(RANDOM_PLANS, "test_equivalent_plans_put_out_the_same"),
        ("planner/test_rewrites.py", "test_every_step_from_a_random_plan_is_the_same_relation_at_every_instant"),
        ("planner/test_rewrites.py", "test_so_is_every_plan_of_the_closure")],
    5: [(RELATIONS, "test_property_5_delta_star_keeps_at_most_twice_its_output_at_any_time")],
    6: [(RELATIONS, "test_property_6_a_queue_gives_out_every_row_at_its_time_and_none_before")],
    7: [(REFRESHES, "test_property_7_restore_puts_out_what_continuous_evaluation_does_and_no_restore_what_a_refresh_"
                    "sees"),
        (REFRESHES, "test_property_7_no_restore_is_restore_without_the_results_dead_at_the_refresh"),
        (REFRESHES, "test_property_7_where_results_leave_in_order_no_restore_loses_nothing")],
    8: [(REFRESHES, "test_property_8_no_restore_loses_about_the_slide_over_twice_the_range")],
    9: [(MANNERS, "test_property_9_eager_and_lazy_with_restore_find_the_same_in_any_probing_order"),
        (MANNERS, "test_property_9_over_inputs_whose_rows_leave_early"),
        (MANNERS, "test_property_9_no_restore_finds_the_part_that_still_holds_at_the_refresh_and_restore_all_of_it")],
    10: [(RELATIONS, "test_property_10_internal_windows_keep_all_that_external_ones_ever_put_out")],
    11: [(RELATIONS, "test_property_11_an_output_window_shows_at_least_what_is_there_and_just_that_where_lives_are_"
                     "equal")],
    12: [(RELATIONS, "test_property_12_an_update_of_an_nrr_never_changes_past_results")],
    18: [("planner/test_join_order.py",
          "test_property_18_the_heuristic_is_statistically_below_the_mean_of_all_orders")],
    19: [(LEGALITY, "test_property_19_a_table_meets_a_plan_exactly_if_nothing_is_taken_back"),
         (LEGALITY, "test_property_19_no_plan_has_a_wstream_or_dstream_with_restore"),
         (LEGALITY, "test_property_19_a_plan_with_an_internal_window_may_not_have_distinct_or_negation_above_it")],
    20: [(RELATIONS, "test_property_20_first_in_first_out")],
}
"""Properties 13 to 17 are about frequent items, synopses, storage, concurrency and schedules, not about plans."""


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@cache
def random_tests_of(file: str) -> frozenset[str]:
    """The tests of a file whose arguments Hypothesis draws."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
                     if any(isinstance(d, ast.Call) and ast.unparse(d.func) == "given" for d in node.decorator_list))


def test_every_property_is_tested() -> None:
    assert sorted(PROPERTIES) == sorted(f"P{i}" for i in range(1, 19))


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_tests_of_a_property_exist(name: str) -> None:
    assert PROPERTIES[name]
    for file, function in PROPERTIES[name]:
        assert function in functions_of(file)


@pytest.mark.parametrize("number", GOLAB)
def test_a_property_of_continuous_queries_is_tested_with_random_plans_or_data(number: int) -> None:
    assert sorted(GOLAB) == [*range(1, 13), 18, 19, 20]
    for file, function in GOLAB[number]:
        assert function in random_tests_of(file)


@pytest.mark.parametrize("name", ["P7", "P12"])
def test_the_properties_of_joins_are_tested_with_random_data(name: str) -> None:
    for file, function in PROPERTIES[name]:
        assert function in random_tests_of(file)
