# SPDX-License-Identifier: GPL-3.0-or-later
"""Real materials with published values, each with the work it is from.

A source begins with the number it is for. Works are named as in ``REFERENCES``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from . import MODELS
from .bounce import bounciness, frequency_ratio
from .material import Material

#: The longest side of a piece that lies in a hand, in metres.
HAND_SIZE = 0.1

#: Poisson's ratio of nearly incompressible materials. Published ratios of rubbers, gels and soft
#: tissues lie between 0.49 and 0.5, which makes no visible difference; linear tetrahedra lock
#: towards 0.5.
KEEPS_VOLUME = 0.49


@dataclass(frozen=True)
class Preset:
    """A real material.

    Args:
        label: the name in the interface.
        model: a name from ``materials.MODELS``.
        young: Young's modulus in pascal.
        poisson: Poisson's ratio.
        density: in kg/m³.
        tan_delta: loss modulus over storage modulus, as published.
        source: the origin of each number, and the value chosen from a range.
        yield_stress: in pascal; 0 is that of a material that recovers from any shape.
        creep_time, hardening: in seconds and pascal, for other materials.
        is_held: whether it hangs on other things, as tissue does on bones, and wobbles from there.
    """

    label: str
    model: str
    young: float
    poisson: float
    density: float
    tan_delta: float
    source: str
    yield_stress: float = 0.0
    creep_time: float = 0.0
    hardening: float = 0.0
    is_held: bool = False
    scale: float = 1.0

    #: Real materials do not brake rigid motion.
    damping = 0.0
    #: The loss factor contains all of their losses.
    stiffness_damping = viscosity = 0.0

    @property
    def use_plasticity(self) -> bool:
        """Whether it gives way for good."""
        return self.yield_stress > 0.0

    @property
    def loss_factor(self) -> float:
        """tan δ of the slowest vibration of a body.

        A held body vibrates at that frequency, and has the published loss factor there. A free
        body bounces, or vibrates on its support, at a lower frequency, at which a Kelvin–Voigt
        solid loses proportionally less.
        """
        return self.tan_delta if self.is_held else self.tan_delta / self.bounce_frequency_ratio

    @property
    def bounce_frequency_ratio(self) -> float:
        """The frequency of a bounce over that of the slowest vibration, at its real size."""
        return frequency_ratio(self.young / self.scale, self.poisson, self.density)

    @property
    def bounciness(self) -> float:
        """The share of its height to which it bounces back from one metre, at its real size."""
        return bounciness(self.loss_factor, self.young / self.scale, self.poisson, self.density)

    @property
    def tenth_sag_height(self) -> float:
        """Return the height in metres of a block that sags by a tenth of it under its own
        weight.
        """
        return 0.2 * self.young / (self.density * 9.81)

    @property
    def standing_height(self) -> float:
        """Return the height in metres of a column whose foot just bears its weight: a higher one
        slumps.
        """
        return self.yield_stress / (self.density * 9.81) if self.use_plasticity else math.inf

    @property
    def size(self) -> float:
        """Return the largest intended height of a body, in metres."""
        return min(self.tenth_sag_height, self.standing_height)

    def scaled(self, scale: float) -> Preset:
        """The material with which a body ``scale`` times as large looks like this one: it sags,
        wobbles and yields by the same share of its size.

        Stresses grow with the size, and times with its square root. The loss factor stays.

        Args:
            scale: above zero.
        """
        slower = math.sqrt(scale)
        return replace(
            self,
            young=scale * self.young,
            yield_stress=scale * self.yield_stress,
            hardening=scale * self.hardening,
            creep_time=slower * self.creep_time,
            scale=scale * self.scale,
        )

    def material(self) -> Material:
        """Its constitutive model."""
        return MODELS[self.model](self.young, self.poisson)


_TISSUE_DENSITY = "ρ: Kaye and Laby"
_GELATINE = (
    "ρ: Kaye and Laby, water and protein (1340 kg/m³) mixed. "
    "tan δ: Gelatin Hydrogels, π/2 times the slope 0.02 of log G′ over log ω"
)

_CLAY_LOSS = "tan δ: Subramaniam 2013, what clay loses is the loop of its yielding; 0 below."
# Strength falls along a straight line in the logarithm from 180 kPa at the plastic limit to 2.3.
_CLAY_FLOW = (
    "τ: Sheahan 1996, at ten times the rate only 9 % stronger; 0. "
    "H: Schofield 1968, what is kneaded goes on at one stress; 0."
)

#: From soft to stiff.
PRESETS: dict[str, Preset] = {
    "liver": Preset(
        "Liver",
        "stable_neo_hookean",
        3560.0,
        KEEPS_VOLUME,
        1060.0,
        0.19,
        "E, tan δ: Asbach 2008, healthy volunteers, their solid of three parameters (1.16 kPa, "
        f"1.97 kPa, 7.3 Pa s) at 5 Hz. ν: Wells 2011. {_TISSUE_DENSITY}, middle of 1050…1070.",
        is_held=True,
    ),
    "gelatine_dessert": Preset(
        "Gelatine Dessert",
        "stable_neo_hookean",
        4340.0,
        KEEPS_VOLUME,
        1010.0,
        0.031,
        "E: Bonavia 2025, 20 parts of water to 1 of gelatine, their softest. ν: Nielsen 2001. "
        f"{_GELATINE}.",
    ),
    "fat": Preset(
        "Fat",
        "stable_neo_hookean",
        4830.0,
        KEEPS_VOLUME,
        923.0,
        0.39,
        "E: Debernard 2013, 3 × 1.61 kPa of subcutaneous fat. ν: Wells 2011. "
        f"{_TISSUE_DENSITY}, within 917…939. "
        "tan δ: Krouskop 1998, breast fat stores more than 93 % of its complex modulus; the upper "
        "bound that follows.",
        is_held=True,
    ),
    "muscle_relaxed": Preset(
        "Muscle, Relaxed",
        "stable_neo_hookean",
        11_000.0,
        KEEPS_VOLUME,
        1047.0,
        0.42,
        "E: Debernard 2013, 3 × 3.67 kPa of the resting vastus medialis. ν: Wells 2011. "
        f"{_TISSUE_DENSITY}, middle of 1038…1056. "
        "tan δ: Klatt 2010, tan(πα/2) with α = 0.253 of relaxed thigh muscle.",
        is_held=True,
    ),
    "gelatine_ballistic": Preset(
        "Ballistic Gelatine",
        "stable_neo_hookean",
        18_300.0,
        KEEPS_VOLUME,
        1020.0,
        0.031,
        "E: Bonavia 2025, their power law from 277 kPa at 2:1 to 4.34 kPa at 20:1, taken at 9 "
        f"parts of water to 1 of gelatine (10 %). ν: Nielsen 2001. {_GELATINE}.",
    ),
    "marshmallow": Preset(
        "Marshmallow",
        "corotated_linear",
        30_000.0,
        0.33,
        340.0,
        0.031,
        "E: Pestka 2008. ν: Gibson 1997, 1/3 of foams. ρ: USDA 2018, 50 g a cup (237 ml) of small "
        "ones, of which 0.62 are filled at random packing. tan δ: Gelatin Hydrogels, that of the "
        "gel between the cells, as E is in proportion to it (Gibson 1997).",
    ),
    "muscle_tensed": Preset(
        "Muscle, Tensed",
        "stable_neo_hookean",
        33_900.0,
        KEEPS_VOLUME,
        1047.0,
        0.45,
        "E: Debernard 2013, 3 × 11.29 kPa of the vastus medialis at 20 % of its greatest force. "
        f"ν: Wells 2011. {_TISSUE_DENSITY}, middle of 1038…1056. "
        "tan δ: Klatt 2010, tan(πα/2) with α = 0.270 of loaded thigh muscle.",
        is_held=True,
    ),
    "foam": Preset(
        "Polyurethane Foam",
        "corotated_linear",
        71_000.0,
        0.33,
        30.0,
        0.19,
        "E, ρ: Lakes 1987, the untreated foam. ν: Gibson 1997, 1/3 of open cells. "
        "tan δ: Polyurethane Foam Association 2016, ball rebound R of 50…60 %, the middle; "
        "R = exp(−π tan δ) from Gent 2012.",
    ),
    "sponge": Preset(
        "Sponge",
        "corotated_linear",
        96_000.0,
        0.33,
        328.0,
        0.05,
        "E, ρ: Jacobs and Thompson, natural sponge rubber 1040, the middle of 13.7…34.4 kPa at "
        "25 % compression and of 259…397 kg/m³. ν: Gibson 1997, 1/3 of open cells. "
        "tan δ: that of natural rubber, since E is in proportion to that of the cell walls (Gibson "
        "1997).",
    ),
    "silicone": Preset(
        "Soft Silicone",
        "stable_neo_hookean",
        118_000.0,
        KEEPS_VOLUME,
        1070.0,
        0.086,
        "E, ρ: Smooth-On, Ecoflex 00-30, whose 69 kPa at 100 % elongation are 7/12 E of a "
        "Neo-Hookean solid. ν: Gent 2012. "
        "tan δ: Lanoy 2020, G ∝ 1 + (iωτ)ⁿ with τ = 260 µs and n = 0.33, at 5 Hz.",
    ),
    "rubber": Preset(
        "Natural Rubber",
        "stable_neo_hookean",
        1.5e6,
        KEEPS_VOLUME,
        950.0,
        0.05,
        "E: Lindley 1974, hardness 40 IRHD of 30…75. ν: Gent 2012. ρ: MatWeb, uncompounded. "
        "tan δ: Naeim 1999, twice the damping ratio of 2…3 % of low-damping bearings, the middle.",
    ),
    "wet_clay": Preset(
        "Wet Clay",
        "stable_neo_hookean",
        1.5e6,
        KEEPS_VOLUME,
        1830.0,
        0.0,
        "E: USACE 1990, very soft clay, 5…50 tsf, the geometric mean. ν: Ladd 1964. "
        "ρ: Satish Minerals, as clay below; more water makes it a few hundredths lighter. "
        f"{_CLAY_LOSS} Y: Kayabali 2010, 2 c with c = 5.5 kPa a fifth of the way from the liquid "
        f"to the plastic limit. {_CLAY_FLOW}",
        yield_stress=11_000.0,
    ),
    "clay": Preset(
        "Clay",
        "stable_neo_hookean",
        9.6e6,
        KEEPS_VOLUME,
        1830.0,
        0.0,
        "E: USACE 1990, soft clay, 50…200 tsf, the geometric mean. ν: Ladd 1964. "
        "ρ: Satish Minerals, 36 % of water to kneaded china clay, of grains of 2630 kg/m³. "
        f"{_CLAY_LOSS} Y: Kayabali 2010, 2 c with c = 20.3 kPa half-way between the liquid and "
        f"the plastic limit. {_CLAY_FLOW}",
        yield_stress=41_000.0,
    ),
    "cork": Preset(
        "Cork",
        "corotated_linear",
        13e6,
        0.05,
        170.0,
        0.1,
        "E, ν, ρ: Gibson 1981, E across the tree's radius (20 MPa along it), ν between the two, "
        "the middle of 0…0.1. tan δ: Gibson 1997, 0.1…0.3, the value for slow motion.",
    ),
}

#: Names of the presets by category.
GROUPS: dict[str, tuple[str, ...]] = {
    "Food": ("gelatine_dessert", "marshmallow"),
    "Body": ("liver", "fat", "muscle_relaxed", "muscle_tensed", "gelatine_ballistic"),
    "Foam and Cork": ("foam", "sponge", "cork"),
    "Rubber": ("silicone", "rubber"),
    "Clay": ("wet_clay", "clay"),
}

#: The works that sources name.
REFERENCES: dict[str, str] = {
    "Asbach 2008": "P. Asbach, D. Klatt, U. Hamhaber, J. Braun, R. Somasundaram, B. Hamm and "
    "I. Sack, “Assessment of liver viscoelasticity using multifrequency MR elastography”, "
    "Magnetic Resonance in Medicine 60(2), 373–379, 2008, abstract.",
    "Bonavia 2025": "J. E. Bonavia and others, “Viscoelastic material properties of gelatin with "
    "varying water to collagen mass ratios”, arXiv:2512.20502, 2025, abstract.",
    "Debernard 2013": "L. Debernard, G. E. Leclerc, L. Robert, F. Charleux and S. F. Bensamoun, "
    "“In vivo characterization of the muscle viscoelasticity in passive and active conditions "
    "using multifrequency MR elastography”, Journal of Musculoskeletal Research 16(2), 1350008, "
    "2013, abstract.",
    "Gelatin Hydrogels": "Polymer and Biophysics Laboratory, Jawaharlal Nehru University, “Effect "
    "of salt and temperature on visco-elasticity of gelatin hydrogels”, Journal of Surface Science "
    "and Technology, abstract. The loss factor is π/2 times the slope: the local form of the "
    "Kramers–Kronig relations.",
    "Gent 2012": "A. N. Gent (editor), “Engineering with Rubber”, 3rd edition, Hanser, 2012, on "
    "elasticity and on dynamic mechanical properties.",
    "Gibson 1981": "L. J. Gibson, K. E. Easterling and M. F. Ashby, “The structure and mechanics "
    "of cork”, Proceedings of the Royal Society A 377, 99–117, 1981.",
    "Gibson 1997": "L. J. Gibson and M. F. Ashby, “Cellular Solids: Structure and Properties”, 2nd "
    "edition, Cambridge University Press, 1997, on the mechanics of foams and on cork.",
    "Jacobs and Thompson": "Jacobs & Thompson Inc., data sheet of the natural sponge rubber 1040, "
    "after ASTM D1056.",
    "Kaye and Laby": "G. W. C. Kaye and T. H. Laby, “Tables of Physical and Chemical "
    "Constants”, section 2.4.6.",
    "Kayabali 2010": "K. Kayabali and O. O. Tufenkci, “Shear strength of remolded soils at "
    "consistency limits”, Canadian Geotechnical Journal 47(3), 259–266, 2010, abstract. Undrained "
    "shear strengths c are 180 kPa at the plastic limit and 2.3 kPa at the liquid one, their "
    "logarithm linear in the water. A free column yields at 2 c.",
    "Klatt 2010": "D. Klatt and others, “Viscoelasticity-based MR elastography of skeletal "
    "muscle”, Physics in Medicine and Biology 55(21), 6445–6459, 2010, abstract.",
    "Krouskop 1998": "T. A. Krouskop, T. M. Wheeler, F. Kallel, B. S. Garra and T. Hall, “Elastic "
    "moduli of breast and prostate tissues under compression”, Ultrasonic Imaging 20(4), 260–274, "
    "1998, abstract.",
    "Ladd 1964": "C. C. Ladd, “Stress–Strain Behavior of Saturated Clay and Basic Strength "
    "Principles”, report R64-17, Massachusetts Institute of Technology, 1964: what water cannot "
    "leave keeps its volume.",
    "Lakes 1987": "R. Lakes, “Foam structures with a negative Poisson's ratio”, Science 235, "
    "1038–1040, 1987.",
    "Lanoy 2020": "M. Lanoy, F. Lemoult, A. Eddi and C. Prada, “Dirac cones and chiral selection "
    "of elastic waves in a soft strip”, Proceedings of the National Academy of Sciences 117(48), "
    "30186–30190, 2020.",
    "Lindley 1974": "P. B. Lindley, “Engineering Design with Natural Rubber”, 4th edition, "
    "Malaysian Rubber Producers' Research Association, 1974, table of hardness and moduli.",
    "MatWeb": "MatWeb, “Natural Rubber, Vulcanized (NR, IR, Polyisoprene)”.",
    "Naeim 1999": "F. Naeim and J. M. Kelly, “Design of Seismic Isolated Structures”, Wiley, 1999, "
    "on low-damping natural rubber bearings.",
    "Nielsen 2001": "H. Nielsen, B. U. Marr and S. Hvidt, “Correlation between sagging and shear "
    "elasticity in pectin, gelatin and polyacrylamide gels”, Carbohydrate Polymers 45, 395–401, "
    "2001: incompressible.",
    "Pestka 2008": "K. A. Pestka, “Young's modulus of a marshmallow”, The Physics Teacher 46(3), "
    "140–141, 2008.",
    "Polyurethane Foam Association 2016": "Polyurethane Foam Association, “Viscoelastic (memory) "
    "foam”, In•Touch 11(1), revised 2016.",
    "Satish Minerals": "Satish Minerals, data sheet of the levigated china clay Grade B: water of "
    "plasticity 36 %; the density of its grains is that of kaolinite.",
    "Schofield 1968": "A. Schofield and P. Wroth, “Critical State Soil Mechanics”, McGraw-Hill, "
    "1968, on critical states.",
    "Sheahan 1996": "T. C. Sheahan, C. C. Ladd and J. T. Germaine, “Rate-dependent undrained shear "
    "behavior of saturated clay”, Journal of Geotechnical Engineering 122(2), 99–108, 1996, "
    "abstract.",
    "Smooth-On": "Smooth-On, technical bulletin of the Ecoflex series.",
    "Subramaniam 2013": "P. Subramaniam and S. Banerjee, “A correction to damping ratio for "
    "hyperbolic–hysteretic model for clayey soil”, International Journal of Geotechnical "
    "Engineering 7(2), 124–129, 2013, abstract.",
    "USACE 1990": "U.S. Army Corps of Engineers, “Settlement Analysis”, EM 1110-1-1904, 1990, "
    "table of typical elastic moduli; 1 tsf is 95.76 kPa.",
    "USDA 2018": "U.S. Department of Agriculture, National Nutrient Database for Standard "
    "Reference, Legacy Release, entry 19116, “Candies, marshmallows”, 2018.",
    "Wells 2011": "P. N. T. Wells and H.-D. Liang, “Medical ultrasound: imaging of soft tissue "
    "strain and elasticity”, Journal of the Royal Society Interface 8, 1521–1549, 2011: nearly "
    "incompressible.",
}


_HEAD = (
    "| material | model | E | ν | ρ in kg/m³ | tan δ | loss factor | rebound | Y | height "
    "| source |",
    "|---|---|---|---|---|---|---|---|---|---|---|",
)


def render() -> str:
    """A table of all presets, and the works its sources name."""
    rows = [_row(preset) for preset in PRESETS.values()]
    works = [f"- **{name}**: {work}" for name, work in REFERENCES.items()]
    return "\n".join([*_HEAD, *rows, "", *works])


def stiffness(young: float) -> str:
    """Pascal as people read them: 4340 is ``4.34 kPa``."""
    return f"{young / 1e6:g} MPa" if young >= 1e6 else f"{young / 1e3:g} kPa"


def length(metres: float) -> str:
    """As people read them, in two digits: 0.0876 m is ``8.8 cm``."""
    for unit, name in ((1000.0, "km"), (1.0, "m"), (0.01, "cm")):
        if metres >= unit:
            return f"{float(f'{metres / unit:.2g}'):g} {name}"
    return f"{1000.0 * metres:.2g} mm"


def _row(preset: Preset) -> str:
    cells = (
        preset.label,
        f"`{preset.model}`",
        stiffness(preset.young),
        f"{preset.poisson:g}",
        f"{preset.density:g}",
        f"{preset.tan_delta:g}",
        f"{preset.loss_factor:.2g}",
        f"{preset.bounciness:.0%}",
        stiffness(preset.yield_stress) if preset.use_plasticity else "",
        length(preset.size),
        preset.source,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(render())
