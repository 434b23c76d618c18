import bpy

props = bpy.context.scene.supple

props.resolution_scale = 150.0
props.substeps = 0
props.friction_updates = 0
props.motion_samples = 4
