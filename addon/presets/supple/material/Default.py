import bpy

props = bpy.context.object.supple

props.model = "stable_neo_hookean"
props.young = 100000.0
props.poisson = 0.45
props.density = 1000.0
props.damping = 0.5
props.loss_factor = 0.0
props.stiffness_damping = 0.0
props.viscosity = 0.0
props.use_plasticity = False
props.yield_stress = 2000.0
props.creep_time = 0.0
props.hardening = 0.0
props.guard = 0.0
props.plastic_limit = 1.5
props.friction = 0.5
