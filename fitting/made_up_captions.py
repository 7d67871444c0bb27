"""Captions of photographs that nobody took: sentences of the kind that people search photographs by.

No collection of captions of everyday photographs may be passed on, and an encoder that learns from another one needs
texts alone. What the sentences say need not make sense ("A tiger eating corn").
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

WORDS = {
    "colour": (
        "red,blue,green,yellow,black,white,brown,orange,purple,pink,gray,tan,striped,colorful,dark,light blue,bright"
    ),
    "garment": (
        "shirt,jacket,dress,hat,coat,sweater,t-shirt,helmet,swimsuit,uniform,suit,skirt,hoodie,vest,cap,jersey,"
        "scarf,tank top,costume,robe,apron,raincoat,snowsuit"
    ),
    "worn": (
        "glasses,sunglasses,a backpack,a helmet,a hat,jeans,shorts,gloves,a mask,goggles,boots,a life jacket,"
        "headphones,a tie,a bandana,pajamas"
    ),
    "one": (
        "man,woman,boy,girl,child,young man,young woman,little boy,little girl,toddler,baby,person,old man,"
        "elderly woman,teenager,lady,guy,kid,blond woman,bald man,bearded man"
    ),
    "role": (
        "baseball player,basketball player,football player,soccer player,tennis player,skateboarder,snowboarder,"
        "skier,surfer,climber,hiker,cyclist,biker,runner,swimmer,musician,guitarist,singer,dancer,worker,"
        "construction worker,chef,cook,police officer,firefighter,soldier,farmer,fisherman,photographer,artist,"
        "painter,vendor,waiter,doctor,nurse,teacher,student,bride,groom,clown,cheerleader,gymnast,wrestler,boxer,"
        "golfer,cowboy,rider,motorcyclist,driver,pilot,kayaker,rower,tourist,street performer,mechanic,scientist,"
        "monk,shopper,pedestrian"
    ),
    "several": (
        "two men,two women,two boys,two girls,two children,three people,several people,a group of people,a crowd,"
        "a family,a couple,four friends,many people,people,children,men,women,kids,a group of children,"
        "a group of friends,students,soldiers,a team,football players,hikers,dancers,tourists,workers,"
        "three girls,a few men"
    ),
    "dog": (
        "dog,puppy,black dog,brown dog,white dog,large dog,small dog,black and white dog,brown and white dog,"
        "tan dog,greyhound,golden retriever,poodle,bulldog,border collie,German shepherd,wet dog,furry dog"
    ),
    "animal": (
        "cat,kitten,horse,cow,sheep,goat,bird,duck,eagle,seagull,elephant,giraffe,zebra,bear,lion,tiger,monkey,"
        "fish,turtle,frog,squirrel,rabbit,deer,butterfly,bee,chicken,pig,camel,penguin,snake,owl,swan,donkey,fox,"
        "wolf,whale,dolphin,crab,spider,parrot,llama,kangaroo"
    ),
    "animals": "two dogs,three dogs,two puppies,several birds,a herd of sheep,a flock of birds,two horses",
    "place": (
        "beach,street,field,park,mountain,snowy hill,grass,water,river,lake,road,city street,forest,sidewalk,"
        "backyard,pool,playground,dirt path,trail,bridge,garden,market,parking lot,stage,gym,kitchen,living room,"
        "bedroom,restaurant,classroom,office,church,train station,subway,airport,museum,library,hallway,stairs,"
        "rooftop,balcony,dock,pier,canyon,desert,cliff,waterfall,track,court,stadium,arena,racetrack,skate park,"
        "construction site,workshop,store,shop,bar,farm,barn,meadow,woods,ocean,sea,fountain,crosswalk,plaza,"
        "tent,rocks,sand,mud,snow,ice"
    ),
    "thing": (
        "ball,tennis ball,frisbee,stick,toy,bicycle,bike,skateboard,surfboard,guitar,drum,camera,book,newspaper,"
        "phone,laptop,umbrella,balloon,kite,rope,bench,chair,table,bucket,box,bag,suitcase,basket,flag,sign,cup,"
        "bottle,plate,knife,hammer,shovel,broom,ladder,paintbrush,microphone,trophy,flower,ice cream cone,"
        "sandwich,slice of pizza,birthday cake,apple,cookie,balloon animal,stroller,wheelchair,shopping cart,"
        "motorcycle,car,truck,bus,boat,canoe,kayak,horse,swing,slide,trampoline,hoop,racket,bat,golf club,baby,"
        "cat,puppy,stuffed animal,doll,toy car,candle,map,violin,trumpet,accordion,piano,sculpture,statue,fence,"
        "wall,tree,log,hose,sprinkler,net,fishing rod"
    ),
    "food": (
        "food,fruit,vegetables,meat,bread,noodles,soup,ice cream,pizza,a sandwich,a hot dog,corn,cake,fish,rice,"
        "an apple,popcorn,barbecue,pancakes,salad,cookies,cotton candy,spaghetti,a watermelon"
    ),
    "game": (
        "soccer,basketball,football,baseball,tennis,volleyball,golf,hockey,rugby,lacrosse,cricket,badminton,"
        "ping pong,chess,cards,a video game,frisbee,hopscotch,pool,tug of war,water polo"
    ),
    "instrument": (
        "a guitar,the drums,a violin,the piano,a trumpet,a saxophone,a flute,an accordion,a cello,bagpipes,"
        "a tuba,a banjo,the harp"
    ),
    "vehicle": "car,truck,bus,train,motorcycle,boat,tractor,taxi,race car,scooter,go-cart,van,plane,helicopter",
    "bike": "bike,bicycle,mountain bike,dirt bike,motorcycle,scooter,unicycle,tricycle",
    "vessel": "boat,canoe,kayak,raft,paddleboard",
    "height": "a rock,a rock wall,a cliff,a mountain,a steep rock face,a ladder,a tree,an icy wall,stairs",
    "along": "down,along,through,across,up,on,over,past,in,near",
    "by": "on,in,near,beside,in front of,behind",
    "hair": "long hair,a beard,a mohawk,a tattoo,red hair,a ponytail,curly hair",
    "dish": "plate,table,cutting board,grill,counter,tray",
    "going": "driving,parked,stuck,racing,going,moving",
    "view": "view,photo,picture,close-up,aerial view",
    "article": "the ,a ,the ,",
    "when": (
        "at night,at sunset,on a sunny day,in the rain,in the snow,in the background,in front of a crowd,"
        "in black and white,while others watch,during a game" + 12 * ","
    ),
    "end": " .,.,,",
}
ACTIONS = (
    "riding a (bike) (along) (somewhere)|riding a horse (along) (somewhere)|riding a skateboard down a ramp|"
    "doing a trick on a skateboard|doing a flip on a bicycle|jumping into (somewhere)|jumping over (a thing)|"
    "jumping off (a thing)|jumping in the air|running (along) (somewhere)|running after (a thing)|"
    "walking (along) (somewhere)|walking past (a thing)|walking with (a thing)|walking a (dog)|"
    "sitting on (a thing)|sitting at a table|sitting on the ground|sitting in front of (a thing)|"
    "sitting next to (a thing)|standing on (somewhere)|standing in front of (a thing)|standing near (somewhere)|"
    "standing next to (a thing)|standing in line|holding (a thing)|holding (a thing) and (a thing)|"
    "carrying (a thing)|carrying (a thing) on the head|pushing (a thing)|pulling (a thing)|throwing (a thing)|"
    "catching (a thing)|kicking (a thing)|hitting (a thing)|climbing (height)|climbing up (a thing)|"
    "hanging from (a thing)|swinging on a swing|sliding down a slide|playing in (somewhere)|"
    "playing with (a thing)|playing (game)|playing (instrument)|singing into a microphone|performing on stage|"
    "dancing in (somewhere)|dancing|eating (food)|drinking from (a thing)|cooking (food)|cutting (food)|"
    "selling (food)|reading a book|reading (a thing)|writing on (a thing)|drawing a picture|painting (a thing)|"
    "taking a picture of (a thing)|taking a photo|looking at (a thing)|looking through (a thing)|"
    "looking out of a window|looking at the camera|smiling at the camera|smiling|laughing|crying|"
    "sleeping on (a thing)|lying on (somewhere)|lying in the grass|resting on (a thing)|swimming in (somewhere)|"
    "diving into (somewhere)|surfing a wave|riding a wave|skiing down a hill|snowboarding over (a thing)|"
    "sledding down a hill|ice skating|fishing in (somewhere)|paddling a (vessel) (along) (somewhere)|"
    "sailing on (somewhere)|rafting through white water|driving a (vehicle)|riding in a (vehicle)|"
    "waiting for a (vehicle)|getting out of a (vehicle)|repairing (a thing)|working on (a thing)|"
    "building (a thing)|digging in (somewhere)|sweeping (somewhere)|cleaning (a thing)|washing (a thing)|"
    "watching (a thing)|watching (several)|talking to a (one)|talking on a phone|talking to each other|"
    "hugging a (one)|kissing|holding hands|shaking hands|waving (a thing)|pointing at (a thing)|wearing (worn)|"
    "wearing a (colour) (garment)|wearing a (colour) (garment) and (worn)|blowing bubbles|blowing out candles|"
    "opening (a thing)|making (a thing)|feeding a (animal)|petting a (animal)|chasing a (animal)|"
    "racing (along) (somewhere)|competing in a race|crossing (somewhere)|hiking (along) (somewhere)|"
    "camping in (somewhere)|marching in a parade|protesting with signs|celebrating|getting married|"
    "splashing in (somewhere)|lifting weights|stretching|practicing karate|fighting|wrestling|"
    "shooting a basketball|swinging a bat|sliding into base|tackling another player|running with the ball|"
    "serving a tennis ball|juggling|balancing on (a thing)|leaning against (a thing)|crawling through (a thing)|"
    "hiding behind (a thing)|peeking out of (a thing)|bending over (a thing)|kneeling beside (a thing)"
).split("|")
OF_ANIMALS = (
    "running (along) (somewhere)|running with (a thing) in its mouth|jumping over (a thing)|"
    "jumping to catch (a thing)|catching a frisbee|carrying (a thing) in its mouth|playing with (a thing)|"
    "playing in (somewhere)|playing with another dog|chasing a (animal)|chasing a ball|swimming in (somewhere)|"
    "standing on (somewhere)|sitting on (a thing)|lying on (somewhere)|sniffing (a thing)|digging in (somewhere)|"
    "shaking off water|barking at a (animal)|biting (a thing)|licking (a thing)|looking at (a thing)|looking up|"
    "leaping into (somewhere)|walking through (somewhere)|pulling (a thing)|wearing a (colour) collar|"
    "sleeping on (a thing)|drinking water|eating (food)|racing around a track|fetching a stick"
).split("|")
SUBJECTS = (("a (one)(looks)", 0.42), ("a (role)", 0.18), ("(several)", 0.4))
LOOKS = (("", 0.62), (" in a (colour) (garment)", 0.25), (" wearing (worn)", 0.08), (" with (hair)", 0.05))
BEASTS = (("a (dog)", 0.6), ("a (animal)", 0.24), ("(animals)", 0.16))
ACTING = (
    ("(subject) (action)", 0.73),
    ("(subject) (action) and (action)", 0.15),
    ("(subject) (action) while (subject) watches", 0.12),
)
KINDS = (
    ("(acting)", 0.62),
    ("(beast) (of animals)", 0.18),
    ("a (colour) (thing) (by) (somewhere)", 0.06),
    ("a (view) of a (animal)", 0.02),
    ("a (view) of a (place)", 0.02),
    ("a (vehicle) (going) (along) (somewhere)", 0.05),
    ("(food) on a (dish) with (food)", 0.05),
)
SLOT = re.compile(r"\(([a-z ]+)\)")


def made_up_captions(count: int, *, seed: int = 0) -> Iterator[str]:
    """Yield different captions, the same ones for a seed."""
    draw = random.Random(seed)
    lists = {name: words.split(",") for name, words in WORDS.items()} | {"action": ACTIONS, "of animals": OF_ANIMALS}
    weighted = {"subject": SUBJECTS, "looks": LOOKS, "beast": BEASTS, "acting": ACTING, "kind": KINDS}
    written = {"somewhere": "(article)(place)", "a thing": "a (thing)"}

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        if name in written:
            return SLOT.sub(filled, written[name])
        if name in weighted:
            texts, weights = zip(*weighted[name], strict=True)
            return SLOT.sub(filled, draw.choices(texts, weights)[0])
        return SLOT.sub(filled, draw.choice(lists[name]))

    seen: set[str] = set()
    while len(seen) < count:
        text = SLOT.sub(filled, "(kind) (when)").strip() + draw.choice(lists["end"])
        text = re.sub(r"\ba (?=[aeiou])", "an ", text)
        if draw.random() < 0.85:
            text = text[0].upper() + text[1:]
        if text not in seen:
            seen.add(text)
            yield text
