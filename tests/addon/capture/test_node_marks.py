# SPDX-License-Identifier: GPL-3.0-or-later
"""What is edited of geometry nodes after a simulation is told of, and how they are drawn is not."""

from __future__ import annotations

import bpy
import pytest

from supple.addon import ids

from .. import rigs
from ..shown_notices import only, shown_notices


def nodes(obj):
    return obj.modifiers["Sway"].node_group.nodes


def set_a_value(obj):
    nodes(obj)["Math"].inputs[1].default_value = 0.2


def choose_another_operation(obj):
    nodes(obj)["Math"].operation = "COSINE"


def cut_a_link(obj):
    tree = obj.modifiers["Sway"].node_group
    tree.links.remove(tree.links[-1])


def edit_a_group(obj):
    nodes(obj)["Group"].node_tree.nodes["Value"].outputs[0].default_value = 2.0


def bend_a_curve(obj):
    nodes(obj)["Float Curve"].mapping.curves[0].points[0].location.y = 0.3
    obj.modifiers["Sway"].node_group.update_tag()


def move_what_a_node_names(obj):
    nodes(obj)["Object Info"].inputs[0].default_value.location.x = 3.0


@pytest.mark.parametrize(
    "edit",
    [
        *(set_a_value, choose_another_operation, cut_a_link),
        *(edit_a_group, bend_a_curve, move_what_a_node_names),
    ],
)
def test_an_edit_of_geometry_nodes_counts_as_the_mesh(add_body, play, edit):
    bpy.ops.object.empty_add(location=(0, 0, 2))
    empty = bpy.context.object
    obj = add_body()
    rigs.geometry_nodes(obj)
    tree, inner = (
        obj.modifiers["Sway"].node_group,
        bpy.data.node_groups.new("In", "GeometryNodeTree"),
    )
    inner.nodes.new("ShaderNodeValue")
    tree.nodes.new("GeometryNodeGroup").node_tree = inner
    tree.nodes.new("ShaderNodeFloatCurve")
    info = tree.nodes.new("GeometryNodeObjectInfo")
    info.inputs[0].default_value = empty
    tree.links.new(info.outputs["Geometry"], tree.nodes.new("GeometryNodeJoinGeometry").inputs[0])
    play(3)
    assert shown_notices() == []
    # How nodes are drawn, and what they are called that they name, is no edit.
    info.location, info.select, empty.name, inner.name = (30.0, 4.0), False, "Other", "Inside"
    tree.nodes.new("NodeFrame")
    assert shown_notices() == []
    edit(obj)
    obj.update_tag()
    assert "Cube was changed since it was simulated: its mesh;" in only(ids.SIMULATE)


def test_keyed_values_of_nodes_are_other_ones_at_other_frames_and_count_as_animation(
    scene, add_body, play
):
    obj = add_body()
    rigs.geometry_nodes(obj)
    socket = nodes(obj)["Math"].inputs[1]
    for frame, value in ((1, 0.0), (4, 1.0)):
        socket.default_value = value
        socket.keyframe_insert("default_value", frame=frame)
    play(3)
    for frame in (3, 1):
        scene.frame_set(frame)
        assert shown_notices() == []
    socket.default_value = 5.0
    socket.keyframe_insert("default_value", frame=4)
    assert "Cube was changed since it was simulated: its animation;" in only(ids.SIMULATE)
